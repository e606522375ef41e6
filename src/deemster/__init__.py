"""Deemster: a self-hosted online judge that runs untrusted code in a cage."""

from importlib.metadata import version

__version__ = version("deemster")
