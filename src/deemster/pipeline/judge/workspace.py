"""Directories for one attempt each: unique, ours alone, and gone afterwards in any case."""

import asyncio
import fcntl
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from deemster.domain.errors import Unavailable


@asynccontextmanager
async def workspace(root: Path) -> AsyncIterator[Path]:
    """A new directory that nobody but its owner may enter; its lock tells that it is in use."""
    try:
        path, lock = await asyncio.to_thread(create, root)
    except OSError as fault:
        raise Unavailable(
            f"No work directory could be made in {root} ({fault.strerror}): "
            "name a writable place with DEEMSTER_WORK_DIR."
        ) from fault
    try:
        yield path
    finally:
        # Not awaited: a cancelled attempt must not leave before its files are gone.
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def create(root: Path) -> tuple[Path, int]:
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(root, fcntl.LOCK_SH):
        path = Path(tempfile.mkdtemp(dir=root))
        return path, lock(path, fcntl.LOCK_EX)


def sweep(root: Path) -> int:
    """Removes what killed processes left behind; how many directories that were."""
    try:
        # The root's lock keeps out those who have made a directory and not locked it yet.
        with locked(root, fcntl.LOCK_EX | fcntl.LOCK_NB):
            return sum(remove_if_free(path) for path in root.iterdir())
    except (BlockingIOError, FileNotFoundError):
        return 0


def remove_if_free(path: Path) -> bool:
    try:
        with locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB):
            shutil.rmtree(path, ignore_errors=True)
    except OSError:
        return False
    return True


@contextmanager
def locked(path: Path, kind: int) -> Iterator[None]:
    descriptor = lock(path, kind)
    try:
        yield
    finally:
        os.close(descriptor)


def lock(path: Path, kind: int) -> int:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, kind)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
