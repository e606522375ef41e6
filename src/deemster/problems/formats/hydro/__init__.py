"""Reads problems of Hydro: `problem.yaml`, and `testdata/` with or without a `config.yaml`."""

from deemster.problems.formats.hydro.package import read_package
from deemster.problems.formats.hydro.prepare import prepare

__all__ = ["prepare", "read_package"]
