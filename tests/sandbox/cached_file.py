"""A file on disk of which a test knows which pages are in memory."""

import ctypes
import mmap
import os
from pathlib import Path

import pytest

BITS = 64
STRIDE = 64 * mmap.PAGESIZE
"""The pages of two bits are so far apart that reading one does not load the other."""
NOT_REMOVABLE = "the page cache of this file system can't be emptied"


def write_file(directory: Path) -> None:
    directory.chmod(0o755)
    with (directory / "file").open("wb") as file:
        file.write(os.urandom(BITS * STRIDE))
        file.flush()
        os.fsync(file.fileno())


def forget(directory: Path) -> None:
    with (directory / "file").open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if b"1" in bits_in_memory(directory):
        pytest.skip(NOT_REMOVABLE)


def bits_in_memory(directory: Path) -> bytes:
    libc = ctypes.CDLL(None, use_errno=True)
    with (
        (directory / "file").open("rb") as file,
        mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE) as memory,
    ):
        pages = (ctypes.c_ubyte * (len(memory) // mmap.PAGESIZE))()
        first = ctypes.c_char.from_buffer(memory)
        address = ctypes.c_void_p(ctypes.addressof(first))
        assert libc.mincore(address, ctypes.c_size_t(len(memory)), pages) == 0
        del first
    return bytes(b"01"[page & 1] for page in pages[:: STRIDE // mmap.PAGESIZE])
