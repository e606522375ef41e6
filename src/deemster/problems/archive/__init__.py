"""Unpacks problem packages from untrusted archives and directories (J8)."""

from deemster.problems.archive.bounds import Bounds
from deemster.problems.archive.unpack import Unpacked, unpack, unpack_inner

__all__ = ["Bounds", "Unpacked", "unpack", "unpack_inner"]
