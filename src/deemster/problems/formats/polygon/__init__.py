"""Reads packages of Codeforces Polygon: `problem.xml` and its files."""

from deemster.problems.formats.polygon.package import prepare, read_package

__all__ = ["prepare", "read_package"]
