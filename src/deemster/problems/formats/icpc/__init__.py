"""Reads ICPC/Kattis problem packages: `legacy`, `legacy-icpc` and `2025-09`."""

from deemster.problems.formats.icpc.package import read_package

__all__ = ["read_package"]
