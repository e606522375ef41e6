"""Brings test data to this judge host: verified, and unpacked only in memory (M1)."""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from deemster.domain.errors import LostRace, Refused, Unavailable
from deemster.judgehost.encrypted_cache import EncryptedCache
from deemster.pipeline.remote.messages import MAX_DATA, ProblemData
from deemster.problems.archive import Bounds
from deemster.problems.revision import (
    Revision,
    RevisionDamaged,
    RevisionMissing,
    RevisionStore,
)

Download = Callable[[str, Path, int], Awaitable[None]]
"""Writes the answer to a path of the server to a file, up to so many bytes."""

PACKED_SHARE: Final = 3
"""Most of the memory that one packed problem may take: a third. The unpacked ones have the
rest."""
ROOM_S: Final = 60.0
ROOM_CHECK_S: Final = 0.05
MAX_PATHS: Final = 10_000


class HostRevisions:
    """The revisions of this host. They are fetched one at a time, so each is fetched once."""

    def __init__(
        self, directory: Path, memory_bytes: int, cache: EncryptedCache, download: Download
    ) -> None:
        """`directory` is in memory."""
        self._largest_bytes = memory_bytes // PACKED_SHARE
        most = memory_bytes - self._largest_bytes
        bounds = Bounds(total_bytes=most)
        self._revisions = RevisionStore(directory / "revisions", most, bounds)
        self._packed = directory
        self._cache = cache
        self._download = download
        self._paths: OrderedDict[str, str] = OrderedDict()
        """Signed paths of the newest tasks, by digest."""
        self._fetching = asyncio.Lock()
        self.on_full: Callable[[], None] = lambda: None
        """Called when revisions that nobody uses any more are still held."""

    def offer(self, data: ProblemData) -> None:
        """Tells where the server has the data, for the next minutes."""
        self._paths[data.digest] = data.path
        self._paths.move_to_end(data.digest)
        while len(self._paths) > MAX_PATHS:
            self._paths.popitem(last=False)

    @asynccontextmanager
    async def opened(self, digest: str) -> AsyncIterator[Revision]:
        """Holds a revision, which is fetched if it is not here."""
        async with AsyncExitStack() as stack:
            revision = await self._present(stack, digest)
            if revision is None:
                async with self._fetching:
                    # Another task may have fetched it meanwhile.
                    revision = await self._present(stack, digest)
                    if revision is None:
                        revision = await self._fetch(stack, digest)
            yield revision

    async def digests(self) -> list[str]:
        """All test data that need no download."""
        unpacked = await self._revisions.digests()
        return list({*unpacked, *self._cache.digests})[:MAX_DATA]

    async def _present(self, stack: AsyncExitStack, digest: str) -> Revision | None:
        try:
            return await stack.enter_async_context(self._revisions.opened(digest))
        except (RevisionMissing, RevisionDamaged):
            return None

    async def _fetch(self, stack: AsyncExitStack, digest: str) -> Revision:
        packed = self._packed / f"{secrets.token_hex(8)}.tar"
        try:
            is_cached = await asyncio.to_thread(self._cache.get, digest, packed)
            if not is_cached:
                await self._fetch_packed(digest, packed)
            await self._make_room(packed.stat().st_size)
            revision = await stack.enter_async_context(self._revisions.restored(packed, digest))
            if not is_cached:
                await asyncio.to_thread(self._cache.put, digest, packed)
        except OSError as fault:
            raise Unavailable(
                f"Test data can't be written to memory ({fault.strerror}): make "
                "DEEMSTER_JUDGEHOST_MEMORY_MB smaller than the file system."
            ) from fault
        finally:
            packed.unlink(missing_ok=True)
        return revision

    async def _fetch_packed(self, digest: str, target: Path) -> None:
        path = self._paths.get(digest)
        if path is None:
            raise Unavailable(f"No task has said where the test data {digest} is.")
        try:
            await self._download(path, target, self._largest_bytes)
        except (LostRace, Refused) as fault:
            # The next try gets a new path.
            raise Unavailable(f"The test data {digest} can't be fetched: {fault}") from fault

    async def _make_room(self, needed_bytes: int) -> None:
        """Waits until tasks that use other test data have ended, if need be."""
        try:
            async with asyncio.timeout(ROOM_S):
                # Polled, because a revision is released by closing its lock.
                while not await self._revisions.make_room(needed_bytes):
                    self.on_full()
                    await asyncio.sleep(ROOM_CHECK_S)
        except TimeoutError:
            raise Unavailable(
                "The test data of running tasks takes all of the memory for it: raise "
                "DEEMSTER_JUDGEHOST_MEMORY_MB."
            ) from None
