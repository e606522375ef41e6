"""Reads packages of Codeforces Polygon: `problem.xml` and what it names."""

from deemster.problems.formats.polygon.package import read_package
from deemster.problems.formats.polygon.prepare import prepare

__all__ = ["prepare", "read_package"]
