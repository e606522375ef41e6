"""Locks on directories, which end with the process that holds them."""

import asyncio
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


async def acquire(work: Callable[[], T], undo: Callable[[T], object]) -> T:
    """Gets something in a thread; when the caller is cancelled meanwhile, it is given back."""
    working = asyncio.get_running_loop().run_in_executor(None, work)

    def give_back(done: asyncio.Future[T]) -> None:
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
