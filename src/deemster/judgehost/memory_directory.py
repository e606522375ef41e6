"""A directory in memory for data that must not reach a disk, removed when its process ends."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from deemster.directory_store import create, remove, sweep
from deemster.domain.errors import Refused
from deemster.domain.limits import MIB

IN_MEMORY: Final = frozenset({"tmpfs", "ramfs"})


@contextmanager
def memory_directory(parent: Path) -> Iterator[Path]:
    """Also removes what processes left that were killed."""
    if not is_in_memory(parent):
        raise Refused(
            f"{parent} is not in memory, so test data would be written to a disk: set "
            "DEEMSTER_JUDGEHOST_MEMORY_DIR to a directory on a tmpfs."
        )
    root = parent / f"deemster-judgehost-{os.geteuid()}"
    try:
        root.mkdir(mode=0o700, exist_ok=True)
        found = root.lstat()
    except OSError as fault:
        raise Refused(
            f"A judge host can't make a directory in {parent} ({fault.strerror}): set "
            "DEEMSTER_JUDGEHOST_MEMORY_DIR to another directory on a tmpfs."
        ) from fault
    # Everybody may write to the parent, and could have made this directory before.
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    if not is_ours or stat.S_IMODE(found.st_mode) & 0o077:
        raise Refused(f"{root} belongs to somebody else, or others can read it: remove it.")
    sweep(root)
    path, lock = create(root)
    try:
        yield path
    finally:
        remove(path, lock)


def is_in_memory(path: Path) -> bool:
    """Whether the file system of this directory has no disk."""
    best, kind = "", ""
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        before, _, after = line.partition(" - ")
        place = before.split()[4].replace("\\040", " ")
        is_above = os.path.commonpath([place, path.resolve()]) == place
        if is_above and len(place) >= len(best):
            best, kind = place, after.split()[0]
    return kind in IN_MEMORY


def default_memory_mb(parent: Path) -> int:
    """Half of the file system."""
    found = os.statvfs(parent)
    return max(1, found.f_blocks * found.f_frsize // 2 // MIB)
