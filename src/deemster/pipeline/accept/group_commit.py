"""Writes requests that arrive at the same time to the database in one statement."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, TypeVar

from deemster.domain.errors import Unavailable
from deemster.store.pool import Connection, DatabaseDown, Pool, connection

R = TypeVar("R")
A = TypeVar("A")
InsertAll = Callable[[Connection, Sequence[R]], Awaitable[list[A | Exception]]]
"""Inserts all with one statement and one commit; returns answers in the same order."""

CONCURRENT_STATEMENTS: Final = 2
"""While one statement is being synced to the disk, the next one runs."""
MIN_BATCH: Final = 20
"""A second statement starts only for at least so many requests; fewer wait for the first."""
MAX_BATCH: Final = 64


class PendingWrite(Generic[R, A]):
    __slots__ = ("answer", "insert", "turn")

    def __init__(self, insert: R) -> None:
        self.insert = insert
        self.answer: A | Exception | None = None
        self.turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Resolved with an answer set; or without one, and then this task writes a batch."""

    @property
    def must_write(self) -> bool:
        return self.turn.done() and not self.turn.cancelled() and self.answer is None


class GroupCommit(Generic[R, A]):
    """One of the waiting requests writes the whole batch, so no background task is needed."""

    def __init__(self, pool: Pool, insert_all: InsertAll[R, A]) -> None:
        self._pool = pool
        self._insert_all = insert_all
        self._waiting: deque[PendingWrite[R, A]] = deque()
        self._free = CONCURRENT_STATEMENTS

    async def write(self, insert: R) -> A:
        """Returns when the request is on the disk."""
        pending: PendingWrite[R, A] = PendingWrite(insert)
        if self._may_write(1):
            self._free -= 1
            await self._write_batch(pending)
        else:
            await self._wait(pending)
        assert pending.answer is not None
        if isinstance(pending.answer, Exception):
            raise pending.answer
        return pending.answer

    async def _wait(self, pending: PendingWrite[R, A]) -> None:
        self._waiting.append(pending)
        try:
            await pending.turn
        except asyncio.CancelledError:
            if pending.must_write:
                self._start_next()
            raise
        if pending.must_write:
            await self._write_batch(pending)

    async def _write_batch(self, first: PendingWrite[R, A]) -> None:
        batch = [first, *self._take_waiting()]
        cancelled = DatabaseDown("The write was cancelled before it ended: try again.")
        answers: list[A | Exception] = [cancelled] * len(batch)
        try:
            async with connection(self._pool) as acquired:
                answers = await self._insert_all(
                    acquired, [pending.insert for pending in batch]
                )
        except Unavailable as fault:
            answers = [fault] * len(batch)
        finally:
            self._start_next()
            for pending, answer in zip(batch, answers, strict=True):
                pending.answer = answer
                if not pending.turn.done():
                    pending.turn.set_result(None)

    def _take_waiting(self) -> list[PendingWrite[R, A]]:
        taken: list[PendingWrite[R, A]] = []
        while len(taken) < MAX_BATCH - 1 and (pending := self._next()) is not None:
            taken.append(pending)
        return taken

    def _start_next(self) -> None:
        self._free += 1
        if self._may_write(0) and (pending := self._next()) is not None:
            self._free -= 1
            pending.turn.set_result(None)

    def _may_write(self, more: int) -> bool:
        if self._free == CONCURRENT_STATEMENTS:
            return True
        return self._free > 0 and len(self._waiting) + more >= MIN_BATCH

    def _next(self) -> PendingWrite[R, A] | None:
        """The first request that still waits."""
        while self._waiting:
            pending = self._waiting.popleft()
            if not pending.turn.done():
                return pending
        return None
