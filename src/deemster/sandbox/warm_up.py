"""A program that loads files into the page cache, so that boxes need not read them from disk.

The page cache that a run adds is removed after it (X9): files that only boxes read would be
read from the disk in each run. This program runs outside of boxes, with the lowest priority,
and what it has loaded stays in memory. Its input has one path per line.
"""

import ctypes
import mmap
import os
import platform
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

CHUNK: Final = 128 << 10
"""The kernel loads no more at once for one call; this is its usual limit."""
MADV_POPULATE_READ: Final = 22
IOPRIO_SET: Final = {"x86_64": 251, "aarch64": 30}
IOPRIO_IDLE: Final = 3 << 13
SHARE_OF_MEMORY: Final = 4
"""At most a fourth of the memory that is available is filled."""


def main() -> None:
    """Arguments: the most bytes to load, and the most seconds to take."""
    max_bytes, max_s = map(int, sys.argv[1:])
    use_idle_time_only()
    paths = [Path(line.rstrip("\n")) for line in sys.stdin]
    limit = min(max_bytes, available_memory() // SHARE_OF_MEMORY)
    sys.stdout.write(f"{load(paths, limit, time.monotonic() + max_s)}\n")


def use_idle_time_only() -> None:
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    if (number := IOPRIO_SET.get(platform.machine())) is not None:
        ctypes.CDLL(None).syscall(number, 1, 0, IOPRIO_IDLE)


def available_memory() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if "MemAvailable" in line)


def load(paths: Iterable[Path], max_bytes: int, deadline: float) -> int:
    """Loads files, and all files in directories; returns the size of all that it has loaded."""
    loaded = 0
    for path in files_of(paths):
        if time.monotonic() >= deadline:
            break
        with suppress(OSError, ValueError):  # not readable, removed, or just made shorter
            loaded += load_file(path, max_bytes - loaded)
    return loaded


def load_file(path: Path, room: int) -> int:
    """A file that is too large for the rest of the room is left out."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        size = status.st_size
        if not stat.S_ISREG(status.st_mode) or size > room:
            return 0
        for offset in range(0, size, CHUNK):
            os.posix_fadvise(descriptor, offset, CHUNK, os.POSIX_FADV_WILLNEED)
        if size:
            wait_until_loaded(descriptor, size)
        return size
    finally:
        os.close(descriptor)


def wait_until_loaded(descriptor: int, size: int) -> None:
    """The kernel need not follow the advice while the disk is busy."""
    with (
        mmap.mmap(descriptor, size, mmap.MAP_PRIVATE, mmap.PROT_READ) as memory,
        suppress(OSError),  # before Linux 5.14 there is only the advice
    ):
        memory.madvise(MADV_POPULATE_READ)


def files_of(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            for folder, _, names in os.walk(path):
                yield from (Path(folder, name) for name in names)
        else:
            yield path


if __name__ == "__main__":
    main()
