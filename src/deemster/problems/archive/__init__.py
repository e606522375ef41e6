"""Brings a problem package into a directory of ours, trusting nothing about it (J8)."""

from deemster.problems.archive.bounds import Bounds
from deemster.problems.archive.unpack import Unpacked, unpack, unpack_inner

__all__ = ["Bounds", "Unpacked", "unpack", "unpack_inner"]
