"""The data of heng tasks as packages."""

from deemster.problems.formats.heng.package import FILE, FILES, HengPackage, read_package

__all__ = ["FILE", "FILES", "HengPackage", "read_package"]
