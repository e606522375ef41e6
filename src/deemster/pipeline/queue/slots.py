"""The slots of a consumer: who may claim a job ahead, and who is in a slot (Q8, Q14)."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import ClassVar

from deemster.domain.errors import LostRace


class GivenBack(LostRace):
    """No slot became free for the job, which goes back to its queue."""

    code: ClassVar[str] = "given_back"


class Slots:
    """Hands slots out first come first served; `most_ahead` jobs may wait for one."""

    def __init__(self, count: int, most_ahead: int, ahead_s: float) -> None:
        self._count = count
        self._most_ahead = most_ahead
        self._ahead_s = ahead_s
        self._freed_at = [time.monotonic()] * count
        """Of each slot that is free now, when its last job left it."""
        self._waiting: deque[asyncio.Future[float]] = deque()
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
        """Gives back what waits for a slot, now and later (Q14)."""
        self._is_closed = True
        self._may_claim.set()
        self._give_all_back()

    def pause(self) -> None:
        self._is_paused = True
        self._give_all_back()

    def resume(self) -> None:
        self._is_paused = False

    def _give_all_back(self) -> None:
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_exception(GivenBack("The worker takes no more jobs."))

    async def enter(self) -> float:
        """Returns when the slot became free."""
        if self._is_closed or self._is_paused:
            raise GivenBack("The worker takes no more jobs.")
        if not self._freed_at:
            return await self._wait()
        return self._freed_at.pop()

    async def _wait(self) -> float:
        waiting: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._ahead_s):
                    return await waiting
        except asyncio.CancelledError:
            if waiting.done() and not waiting.cancelled() and waiting.exception() is None:
                self.free(waiting.result())
            raise
        if waiting.done() and not waiting.cancelled():
            return waiting.result()
        self._gives_back = True
        raise GivenBack("All slots are busy for a while.")

    def free(self, since: float | None = None) -> None:
        self._gives_back = False
        freed_at = time.monotonic() if since is None else since
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(freed_at)
                break
        else:
            self._freed_at.append(freed_at)
        self._may_claim.set()

    def entered(self) -> None:
        """A job has left those that were claimed ahead."""
        self._claimed -= 1
        self._may_claim.set()


class SlotTurn:
    """The way of one job through a slot."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._is_claimed = True
        self._freed_at: float | None = None
        self.cycle_s = 0.0
        """From the end of the job before it until it left the slot."""

    async def enter(self) -> None:
        """Waits for a slot; raises GivenBack if there is none for a while."""
        if self._freed_at is None and self._is_claimed:
            self._freed_at = await self._slots.enter()
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
            self._slots.entered()
