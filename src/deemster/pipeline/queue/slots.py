"""The slots of a consumer: who may claim a job ahead, and who is in a slot (Q8, Q14)."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from itertools import count as count_from
from typing import ClassVar

from deemster.domain.errors import LostRace


class GivenBack(LostRace):
    """No slot became free for the job, which goes back to its queue."""

    code: ClassVar[str] = "given_back"


class Slots:
    """Hands slots out in the order in which jobs were claimed, as far as they are ready.

    As many jobs as there are slots and compile slots may be claimed ahead. A job overtakes
    fewer jobs than there are slots, and besides those whose programs are being compiled;
    `compiling` tells how many they are.
    """

    def __init__(
        self,
        count: int,
        ahead_s: float,
        *,
        compile_slots: int = 0,
        compiling: Callable[[], int] = lambda: 0,
    ) -> None:
        self._count = count
        self._ahead_s = ahead_s
        self._most_ahead = count + compile_slots
        self._compiling = compiling
        self._freed_at = [time.monotonic()] * count
        """Of each slot that is free now, when its last job left it."""
        self._waiting: dict[int, asyncio.Future[float]] = {}
        """Jobs that are ready, by number."""
        self._unready: set[int] = set()
        """Numbers of claimed jobs that are being made ready or compiled."""
        self._numbers = count_from(1)
        self._claimed = 0
        """Jobs that have no slot yet, and loops that look for one."""
        self._may_claim = asyncio.Event()
        self._may_claim.set()
        self._gives_back = False
        """A job waited too long: nobody claims ahead until a slot is free."""
        self._is_closed = False
        self._is_paused = False

    @property
    def busy(self) -> int:
        return self._count - len(self._freed_at)

    @asynccontextmanager
    async def claiming(self) -> AsyncIterator["SlotTurn"]:
        """Waits until a job may be claimed; the turn is for this job."""
        while not self._is_closed and (self._claimed >= self._most_ahead or self._gives_back):
            self._may_claim.clear()
            await self._may_claim.wait()
        self._claimed += 1
        turn = SlotTurn(self)
        try:
            yield turn
        finally:
            turn.leave()

    def close(self) -> None:
        """Gives no more slots away (Q14)."""
        self._is_closed = True
        self._may_claim.set()

    def pause(self) -> None:
        self._is_paused = True

    def resume(self) -> None:
        self._is_paused = False

    @property
    def is_open(self) -> bool:
        return not (self._is_closed or self._is_paused)

    def claimed(self) -> int:
        """Returns the number of a job that has been claimed."""
        number = next(self._numbers)
        self._unready.add(number)
        return number

    async def enter(self, number: int) -> float:
        """Returns when the slot became free."""
        self._unready.discard(number)
        if not self.is_open:
            raise GivenBack("The worker takes no more jobs.")
        if not self._freed_at or self._overtakes_too_many(number):
            return await self._wait(number)
        return self._freed_at.pop()

    def _overtakes_too_many(self, number: int) -> bool:
        earlier = sum(each < number for each in (*self._unready, *self._waiting))
        return earlier >= self._count + self._compiling()

    async def _wait(self, number: int) -> float:
        waiting: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._ahead_s):
                    return await waiting
        except asyncio.CancelledError:
            if waiting.done() and not waiting.cancelled():
                self.free(waiting.result())
            raise
        if waiting.done() and not waiting.cancelled():
            return waiting.result()
        self._gives_back = True
        raise GivenBack("All slots are busy for a while.")

    def free(self, since: float | None = None) -> None:
        self._freed_at.append(time.monotonic() if since is None else since)
        self._serve()

    def entered(self, number: int) -> None:
        """A job has left those that were claimed ahead."""
        self._unready.discard(number)
        self._waiting.pop(number, None)
        self._claimed -= 1
        self._serve()

    def _serve(self) -> None:
        if self._freed_at:
            self._gives_back = False
        while self._freed_at and self._waiting:
            first = min(self._waiting)
            if self._overtakes_too_many(first):
                break
            waiting = self._waiting.pop(first)
            if not waiting.done():
                waiting.set_result(self._freed_at.pop())
        self._may_claim.set()


class SlotTurn:
    """The way of one job through a slot."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._is_claimed = True
        self._freed_at: float | None = None
        self._number = 0
        self.is_given_back = False
        self.cycle_s = 0.0
        """From the end of the job before it until it left the slot."""

    def claimed(self) -> None:
        """A job was claimed for this turn."""
        self._number = self._slots.claimed()

    def give_back(self) -> bool:
        """True the first time, if the job has no slot yet: then it goes back to its queue."""
        if self.is_given_back or not self._is_claimed:
            return False
        self.is_given_back = True
        return True

    async def enter(self) -> None:
        """Waits for a slot; raises GivenBack if there is none for a while."""
        if self._freed_at is None and self._is_claimed:
            self._freed_at = await self._slots.enter(self._number)
            self._end_claim()

    def leave(self) -> None:
        """Frees the slot; harmless if the job is in none."""
        self._end_claim()
        if self._freed_at is not None:
            self.cycle_s = time.monotonic() - self._freed_at
            self._freed_at = None
            self._slots.free()

    def _end_claim(self) -> None:
        if self._is_claimed:
            self._is_claimed = False
            self._slots.entered(self._number)
