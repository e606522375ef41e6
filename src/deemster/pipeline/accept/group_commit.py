"""Writes submissions that arrive at the same time to the database in one statement."""

import asyncio
from collections import deque
from typing import Final

from deemster.domain.errors import Unavailable
from deemster.store.pool import DatabaseDown, Pool, connection
from deemster.store.submission_inserts import InsertResult, SubmissionInsert, insert_all

CONCURRENT_STATEMENTS: Final = 2
"""While one statement is being synced to the disk, the next one runs."""
MIN_BATCH: Final = 20
"""A second statement starts only for at least so many submissions; fewer wait for the first."""
MAX_BATCH: Final = 64


class PendingWrite:
    __slots__ = ("answer", "insert", "turn")

    def __init__(self, insert: SubmissionInsert) -> None:
        self.insert = insert
        self.answer: InsertResult | Exception | None = None
        self.turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Resolved with an answer set; or without one, and then this task writes a batch."""

    @property
    def must_write(self) -> bool:
        return self.turn.done() and not self.turn.cancelled() and self.answer is None


class GroupCommit:
    """One of the waiting requests writes the whole batch, so no background task is needed."""

    def __init__(self, pool: Pool, *, interval_s: float = 0.0) -> None:
        self._pool = pool
        self._interval_s = interval_s
        self._waiting: deque[PendingWrite] = deque()
        self._free = CONCURRENT_STATEMENTS

    async def write(self, insert: SubmissionInsert) -> InsertResult:
        """Returns when the submission is on the disk."""
        pending = PendingWrite(insert)
        if self._may_write(1):
            self._free -= 1
            await self._write_batch(pending)
        else:
            await self._wait(pending)
        assert pending.answer is not None
        if isinstance(pending.answer, Exception):
            raise pending.answer
        return pending.answer

    async def _wait(self, pending: PendingWrite) -> None:
        self._waiting.append(pending)
        try:
            await pending.turn
        except asyncio.CancelledError:
            if pending.must_write:
                self._start_next()
            raise
        if pending.must_write:
            await self._write_batch(pending)

    async def _write_batch(self, first: PendingWrite) -> None:
        batch = [first, *self._take_waiting()]
        cancelled = DatabaseDown("The write was cancelled before it ended: try again.")
        answers: list[InsertResult | Exception] = [cancelled] * len(batch)
        try:
            async with connection(self._pool) as acquired:
                answers = await insert_all(
                    acquired,
                    [pending.insert for pending in batch],
                    interval_s=self._interval_s,
                )
        except Unavailable as fault:
            answers = [fault] * len(batch)
        finally:
            self._start_next()
            for pending, answer in zip(batch, answers, strict=True):
                pending.answer = answer
                if not pending.turn.done():
                    pending.turn.set_result(None)

    def _take_waiting(self) -> list[PendingWrite]:
        taken: list[PendingWrite] = []
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

    def _next(self) -> PendingWrite | None:
        """The first request that still waits."""
        while self._waiting:
            pending = self._waiting.popleft()
            if not pending.turn.done():
                return pending
        return None
