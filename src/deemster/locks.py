"""Locks on directories, which end with the process that holds them."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")


async def acquire(work: Callable[[], T], undo: Callable[[T], object]) -> T:
    """Runs `work` in a thread, and undoes it if the caller is cancelled meanwhile."""
    # Only here: the launcher of runners needs no event loop, and its import takes time.
    import asyncio  # noqa: PLC0415

    working = asyncio.get_running_loop().run_in_executor(None, work)

    def give_back(done: "asyncio.Future[T]") -> None:
        if not done.cancelled() and done.exception() is None:
            undo(done.result())

    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        working.add_done_callback(give_back)
        raise


@contextmanager
def locked(path: Path, kind: int) -> Iterator[int]:
    descriptor = lock_directory(path, kind)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def lock_directory(path: Path, kind: int) -> int:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, kind)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def lock_current(path: Path, kind: int) -> int | None:
    """None: the directory is gone or was replaced meanwhile, or another lock excludes this."""
    with suppress(BlockingIOError, FileNotFoundError):
        descriptor = lock_directory(path, kind)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.lstat()):
                return descriptor
        os.close(descriptor)
    return None
