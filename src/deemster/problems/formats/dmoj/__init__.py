"""Reads problems of the DMOJ judge: `init.yml` and what it names."""

from deemster.problems.formats.dmoj.package import read_package
from deemster.problems.formats.dmoj.prepare import prepare

__all__ = ["prepare", "read_package"]
