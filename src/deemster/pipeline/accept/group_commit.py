"""Writes submissions down together: who comes while one statement runs goes with the next."""

import asyncio
from collections import deque
from typing import Final

from deemster.domain.errors import Unavailable
from deemster.store.pool import DatabaseDown, Pool, connection
from deemster.store.submission_inserts import AcceptAnswer, SubmissionInsert, accept_all

LANES: Final = 2
"""Statements at once: while one is being synced to the disk, the next is worked on."""
ENOUGH: Final = 20
"""So many are worth a statement of their own beside another; fewer wait for that one's end."""
MOST: Final = 64
"""In one statement."""


class PendingWrite:
    __slots__ = ("answer", "arrival", "turn")

    def __init__(self, arrival: SubmissionInsert) -> None:
        self.arrival = arrival
        self.answer: AcceptAnswer | Exception | None = None
        self.turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done with an answer, or without one: then this one steers the next crossing."""

    @property
    def must_steer(self) -> bool:
        return self.turn.done() and not self.turn.cancelled() and self.answer is None


class GroupCommit:
    """One of the passengers steers, so that nobody has to be started or stopped."""

    def __init__(self, pool: Pool, *, interval_s: float = 0.0) -> None:
        self._pool = pool
        self._interval_s = interval_s
        self._waiting: deque[PendingWrite] = deque()
        self._free = LANES

    async def carry(self, arrival: SubmissionInsert) -> AcceptAnswer:
        """Returns when it is on the disk."""
        passenger = PendingWrite(arrival)
        if self._may_cross(1):
            self._free -= 1
            await self._cross(passenger)
        else:
            await self._wait(passenger)
        assert passenger.answer is not None
        if isinstance(passenger.answer, Exception):
            raise passenger.answer
        return passenger.answer

    async def _wait(self, passenger: PendingWrite) -> None:
        self._waiting.append(passenger)
        try:
            await passenger.turn
        except asyncio.CancelledError:
            if passenger.must_steer:
                self._hand_on()
            raise
        if passenger.must_steer:
            await self._cross(passenger)

    async def _cross(self, steering: PendingWrite) -> None:
        aboard = [steering, *self._board()]
        ended = DatabaseDown("Whoever wrote this down was ended before it was done: try again.")
        answers: list[AcceptAnswer | Exception] = [ended] * len(aboard)
        try:
            async with connection(self._pool) as acquired:
                answers = await accept_all(
                    acquired,
                    [each.arrival for each in aboard],
                    interval_s=self._interval_s,
                )
        except Unavailable as fault:
            answers = [fault] * len(aboard)
        finally:
            self._hand_on()
            for each, answer in zip(aboard, answers, strict=True):
                each.answer = answer
                if not each.turn.done():
                    each.turn.set_result(None)

    def _board(self) -> list[PendingWrite]:
        aboard: list[PendingWrite] = []
        while len(aboard) < MOST - 1 and (next_one := self._next()) is not None:
            aboard.append(next_one)
        return aboard

    def _hand_on(self) -> None:
        self._free += 1
        if self._may_cross(0) and (next_one := self._next()) is not None:
            self._free -= 1
            next_one.turn.set_result(None)

    def _may_cross(self, more: int) -> bool:
        return self._free == LANES or (self._free > 0 and len(self._waiting) + more >= ENOUGH)

    def _next(self) -> PendingWrite | None:
        """Of those who still wait, the first."""
        while self._waiting:
            passenger = self._waiting.popleft()
            if not passenger.turn.done():
                return passenger
        return None
