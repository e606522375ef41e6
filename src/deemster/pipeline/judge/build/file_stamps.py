"""By what one sees that tools, or the packages of this machine, are not what they were."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

SYSTEM_FILES: Final = (
    *("/var/lib/dpkg/status", "/var/lib/rpm", "/lib/apk/db"),
    "/etc/ld.so.cache",
)
"""Change with the packages of this machine: a library or header may be other than before."""

Mark = tuple[int, int, int]
"""Of a file that was not written again since: its size, its time, its inode."""


def mark_of(path: str) -> Mark | None:
    """None: it is not there."""
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino


def marks_of(paths: Iterable[str]) -> tuple[Mark | None, ...]:
    return tuple(mark_of(path) for path in paths)
