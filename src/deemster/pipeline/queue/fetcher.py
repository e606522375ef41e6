"""Finds the next job for a free slot: asks the queues in turn, waits when they are empty."""

import asyncio
import time
from itertools import count
from typing import Final
from uuid import uuid4

import structlog

from deemster.pipeline.queue.engine import Engine, LockedJob, NoJob
from deemster.pipeline.queue.errors import QueueDown
from deemster.pipeline.queue.fair_share import FairShare
from deemster.pipeline.queue.topology import Pace
from deemster.pipeline.queue.wakeup import WakeSignal

log = structlog.get_logger()

QUIET_S: Final = 0.01
"""An empty queue is asked again after this, so that it doesn't slow a full one down."""


class JobFetcher:
    def __init__(
        self,
        engine: Engine,
        shares: FairShare,
        bell: WakeSignal,
        pace: Pace,
        rate_per_s: float | None,
    ) -> None:
        self._engine = engine
        self._shares = shares
        self._bell = bell
        self._pace = pace
        self._rate_per_s = rate_per_s
        self._turnstile = asyncio.Lock()
        self._name = uuid4().hex
        self._numbers = count(1)
        self._quiet_until = dict.fromkeys(shares.order(), 0.0)
        self._dry = 0
        self._failures = 0
        self._open = True
        # Not the bell: a store that wakes only one must not wake who wants nothing.
        self._going = asyncio.Event()
        self._going.set()

    def close(self) -> None:
        """Whoever waits gets nothing more."""
        self._open = False
        self._going.set()
        self._bell.ring()

    def hold(self) -> None:
        """NoJob more until `go`."""
        self._going.clear()
        self._bell.ring()

    def go(self) -> None:
        self._going.set()

    @property
    def is_held(self) -> bool:
        return not self._going.is_set()

    async def next(self) -> tuple[LockedJob, bool] | None:
        """A job, and whether it was there at once. None when closed."""
        dry = self._dry
        async with self._turnstile:
            while self._open:
                if self.is_held:
                    self._dry += 1
                    await self._going.wait()
                    continue
                self._bell.hush()
                found = await self._look()
                if isinstance(found, LockedJob):
                    return found, dry == self._dry
                if not found.limited:
                    self._dry += 1
                await self._bell.wait(min(found.after_s, self._pace.poll_s))
        return None

    async def _look(self) -> LockedJob | NoJob:
        try:
            found = await self._ask()
        except QueueDown as fault:
            if not self._failures:
                log.warning("queue.down", error=str(fault))
            self._failures += 1
            return NoJob(after_s=retry_after_s(self._failures, self._pace))
        if self._failures:
            log.info("queue.back")
            self._failures = 0
        return found

    async def _ask(self) -> LockedJob | NoJob:
        """The quiet ones are asked last, and only if no other has a job."""
        order, now = self._shares.order(), time.monotonic()
        if not self._shares.strict:
            order = sorted(order, key=lambda queue: self._quiet_until[queue] > now)
        answers: list[NoJob] = []
        for queue in order:
            token = f"{self._name}:{next(self._numbers)}"
            answer = await self._engine.take(queue, token, self._pace.lease_s, self._rate_per_s)
            if isinstance(answer, LockedJob):
                self._shares.served(queue)
                return answer
            self._quiet_until[queue] = time.monotonic() + QUIET_S
            answers.append(answer)
        return NoJob(
            after_s=min(answer.after_s for answer in answers),
            limited=any(answer.limited for answer in answers),
        )


def retry_after_s(failures: int, pace: Pace) -> float:
    return float(min(0.1 * 2 ** min(failures - 1, 10), pace.slowest_retry_s))
