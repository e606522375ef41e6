"""Locks a data directory, so that one supervisor or one restore at a time uses it."""

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from deemster.domain.errors import Refused

LOCK: Final = "up.lock"


@contextmanager
def lock_data_dir(data_dir: Path, command: str) -> Iterator[None]:
    """The kernel releases the lock even after `kill -9`; the file names the `command`."""
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        if data_dir.stat().st_uid == os.geteuid():
            data_dir.chmod(0o700)
        elif data_dir.stat().st_mode & stat.S_IWOTH:
            raise Refused(
                f"Every user of this machine can put files into {data_dir}: name a directory "
                "of its own for the data, or run `chmod 700` on this one."
            )
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        lock = os.open(data_dir / LOCK, flags, 0o600)
    except OSError as fault:
        raise Refused(
            f"The data directory {data_dir} can't be used ({fault.strerror}): fix that, or "
            "name another with --data or DEEMSTER_DATA_DIR."
        ) from fault
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(lock, 200, 0).decode(errors="replace").strip()
            raise Refused(
                f"Deemster uses {data_dir} already ({holder or 'it is just starting'}): stop "
                "that one first, or name another directory with --data or DEEMSTER_DATA_DIR."
            ) from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{command}, process {os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(lock)
