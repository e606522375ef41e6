"""Deemster: a self-hosted online judge that runs untrusted code in a sandbox."""

__version__ = "0.1.0"
