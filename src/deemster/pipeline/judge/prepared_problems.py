"""Keeps courts open between submissions, so that a problem is made ready once."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from deemster.pipeline.judge.prepared_problem import PreparedProblem

MOST_OPEN: Final = 16

Open = Callable[[str], AbstractAsyncContextManager[PreparedProblem]]
"""Opens the court of a revision, by its digest."""


@dataclass(slots=True)
class CachedProblem:
    ready: asyncio.Future[PreparedProblem]
    leave: asyncio.Event = field(default_factory=asyncio.Event)
    visitors: int = 0


class PreparedProblems:
    """Of many who ask for a revision at once, one opens it; those unused longest are closed."""

    def __init__(self, open_court: Open, group: asyncio.TaskGroup, most: int) -> None:
        self._open_court = open_court
        self._group = group
        self._most = most
        self._rooms: OrderedDict[str, CachedProblem] = OrderedDict()

    @classmethod
    @asynccontextmanager
    async def open(
        cls, open_court: Open, *, most: int = MOST_OPEN
    ) -> AsyncIterator["PreparedProblems"]:
        async with asyncio.TaskGroup() as group:
            house = cls(open_court, group, most)
            try:
                yield house
            finally:
                for room in house._rooms.values():
                    room.leave.set()

    @asynccontextmanager
    async def court(self, digest: str) -> AsyncIterator[PreparedProblem]:
        """It stays open while it is used."""
        room = self._rooms.get(digest) or self._make(digest)
        self._rooms.move_to_end(digest)
        room.visitors += 1
        try:
            # Shielded: others wait for it too.
            yield await asyncio.shield(room.ready)
        finally:
            room.visitors -= 1
            self._close_some()

    def _make(self, digest: str) -> CachedProblem:
        room = self._rooms[digest] = CachedProblem(asyncio.get_running_loop().create_future())
        self._group.create_task(self._keep(digest, room))
        return room

    async def _keep(self, digest: str, room: CachedProblem) -> None:
        """One task opens and closes, because contexts may belong to their task."""
        try:
            async with self._open_court(digest) as court:
                room.ready.set_result(court)
                await room.leave.wait()
        except Exception as fault:
            if room.ready.done():
                raise
            self._rooms.pop(digest, None)
            room.ready.set_exception(fault)
            room.ready.exception()  # whoever asked may be gone by now
        finally:
            if not room.ready.done():
                room.ready.cancel()

    def _close_some(self) -> None:
        unused = [digest for digest, room in self._rooms.items() if not room.visitors]
        for digest in unused[: max(0, len(self._rooms) - self._most)]:
            self._rooms.pop(digest).leave.set()
