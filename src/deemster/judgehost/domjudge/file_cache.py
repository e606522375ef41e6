"""Keeps test cases and built executables on disk by their hashes, within a size limit."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from deemster.directory_store import DirectoryStore, staged, sweep
from deemster.locks import acquire
from deemster.programs.build.cache import disk_bytes
from deemster.programs.workspace import make_directory

Fill = Callable[[Path], Awaitable[None]]
"""Fills a new, empty directory."""


class FileCache:
    def __init__(self, directory: Path, max_bytes: int) -> None:
        self._staging = directory / "staging"
        self._store = DirectoryStore(directory / "entries", self._staging)
        self._max_bytes = max_bytes
        self._filling: dict[str, asyncio.Lock] = {}
        self._store.create_directories()
        sweep(self._staging)

    @asynccontextmanager
    async def opened(self, name: str, fill: Fill) -> AsyncIterator[Path]:
        """The directory of this name, which is filled first if it is new.

        It can't be removed as long as the block runs.
        """
        lock = await self._hold(name)
        if lock is None:
            lock = await self._add(name, fill)
        try:
            yield self._store.path(name)
        finally:
            os.close(lock)

    async def _hold(self, name: str) -> int | None:
        return await acquire(
            lambda: self._store.hold(name),
            lambda lock: None if lock is None else os.close(lock),
        )

    async def _add(self, name: str, fill: Fill) -> int:
        async with self._filling.setdefault(name, asyncio.Lock()):
            while (lock := await self._hold(name)) is None:
                with staged(self._staging) as place:
                    directory = make_directory(place / "files")
                    await fill(directory)
                    lock = self._store.publish(directory, name)
                if lock is not None:
                    break
        self._filling.pop(name, None)
        await asyncio.to_thread(self._store.evict, self._max_bytes, disk_bytes)
        return lock
