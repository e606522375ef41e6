"""Reads packages of the DMOJ judge: `init.yml` and its files."""

from deemster.problems.formats.dmoj.package import prepare, read_package

__all__ = ["prepare", "read_package"]
