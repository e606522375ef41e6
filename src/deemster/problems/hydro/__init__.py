"""Reads problems of Hydro: `problem.yaml`, and `testdata/` with or without a `config.yaml`."""

from deemster.problems.hydro.package import read_package
from deemster.problems.hydro.prepare import prepare

__all__ = ["prepare", "read_package"]
