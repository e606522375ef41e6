"""Reads Hydro packages: `problem.yaml`, and `testdata/` with an optional `config.yaml`."""

from deemster.problems.formats.hydro.package import prepare, read_package

__all__ = ["prepare", "read_package"]
