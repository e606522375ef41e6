"""Fetches the next job for a free slot, by weight of its queue (Q8); keeps its lock."""

import asyncio
import math
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Final
from uuid import uuid4

import structlog

from deemster.domain.job import QUEUE_WEIGHTS, Job, QueueName
from deemster.pipeline.queue.engine import Engine, LockedJob, NoJob, QueueDown, WakeSignal
from deemster.pipeline.queue.slots import SlotTurn
from deemster.pipeline.queue.topology import ConsumerTimes

log = structlog.get_logger()

IDLE_S: Final = 60.0
SHORT_JOB_S: Final = 0.5


class Lease:
    """The lock on one job, renewed every third of its duration."""

    def __init__(self, locked: LockedJob, lease_s: float, leases: "Leases") -> None:
        self.locked = locked
        self.lease_s = lease_s
        self.renew_at = time.monotonic() + lease_s / 3
        self._leases = leases

    def change(self, lease_s: float) -> None:
        """Renews it in a moment: most jobs have ended by then, and need no longer lock."""
        self.lease_s = lease_s
        self.renew_at = min(self.renew_at, time.monotonic() + SHORT_JOB_S)
        self._leases.wake()


class Leases:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._held: set[Lease] = set()
        self._changed = asyncio.Event()

    @contextmanager
    def holding(self, locked: LockedJob, lease_s: float) -> Iterator[Lease]:
        lease = Lease(locked, lease_s, self)
        self._held.add(lease)
        self.wake()
        try:
            yield lease
        finally:
            self._held.discard(lease)

    def wake(self) -> None:
        """Looks again which leases are due."""
        self._changed.set()

    async def keep_renewing(self) -> None:
        """Renews leases for ever; during an outage of the store it tries again."""
        while True:
            await self._until_due()
            now = time.monotonic()
            due: dict[tuple[QueueName, float], list[Lease]] = defaultdict(list)
            for lease in self._held:
                if lease.renew_at <= now:
                    due[lease.locked.queue, lease.lease_s].append(lease)
            for (queue, lease_s), leases in due.items():
                await self.renew(queue, lease_s, leases)

    async def renew(self, queue: QueueName, lease_s: float, leases: list[Lease]) -> None:
        try:
            lost = await self._engine.renew(queue, [lease.locked for lease in leases], lease_s)
        except QueueDown as fault:
            log.warning("queue.locks_not_renewed", jobs=len(leases), error=str(fault))
            self._schedule(leases, lease_s / 10)
            return
        self._schedule(leases, lease_s / 3)
        for lease in leases:
            if lease.locked.token in lost and lease in self._held:
                # The handler finds out when it settles: the attempt fences it.
                log.warning("job.lock_lost", jobId=lease.locked.id)
                self._held.discard(lease)

    def _schedule(self, leases: list[Lease], after_s: float) -> None:
        for lease in leases:
            lease.renew_at = time.monotonic() + after_s
        self.wake()

    async def _until_due(self) -> None:
        first = min((lease.renew_at for lease in self._held), default=time.monotonic() + IDLE_S)
        self._changed.clear()
        try:
            async with asyncio.timeout(max(first - time.monotonic(), 0)):
                await self._changed.wait()
        except TimeoutError:
            pass


@dataclass(frozen=True, slots=True)
class Done:
    """The job is finished, with a verdict or because there was nothing to do."""


@dataclass(frozen=True, slots=True)
class RetryLater:
    """The job cannot start now and comes again after the delay; it uses no attempt (Q9)."""

    delay_s: float


@dataclass(frozen=True, slots=True)
class DeliveredJob:
    job: Job
    _lease: Lease
    _turn: SlotTurn | None = None

    @asynccontextmanager
    async def in_slot(self) -> AsyncIterator[None]:
        """Waits for a free slot; raises GivenBack if the job has to go back to its queue.

        Before, the handler only makes the job ready; after the block, another job has the slot.
        """
        if self._turn is not None:
            await self._turn.enter()
        try:
            yield
        finally:
            if self._turn is not None:
                self._turn.leave()

    def set_lease(self, lease_s: float) -> None:
        """Changes how long a lock lasts. The lock is renewed while the handler runs."""
        self._lease.change(lease_s)


Handler = Callable[[DeliveredJob], Awaitable[Done | RetryLater]]


QUIET_S: Final = 0.01
"""For this time an empty queue is asked last, so that it does not slow a full one down."""


class FairShare:
    """Start-time fair queueing by weight (Q8): an empty queue saves up no share for later."""

    def __init__(
        self,
        queues: Iterable[QueueName],
        *,
        strict: bool,
        weights: Mapping[QueueName, int] = QUEUE_WEIGHTS,
    ) -> None:
        self.strict = strict
        self._ranked = sorted(queues, key=lambda queue: -weights[queue])
        whole = math.lcm(*(weights[queue] for queue in self._ranked))
        self._strides = {queue: whole // weights[queue] for queue in self._ranked}
        self._starts = dict.fromkeys(self._ranked, 0)
        self._now = 0

    def order(self) -> list[QueueName]:
        if self.strict:
            return self._ranked
        return sorted(self._ranked, key=self._start)

    def served(self, queue: QueueName) -> None:
        self._now = self._start(queue)
        self._starts[queue] = self._now + self._strides[queue]

    def _start(self, queue: QueueName) -> int:
        return max(self._starts[queue], self._now)


class JobFetcher:
    def __init__(
        self,
        engine: Engine,
        shares: FairShare,
        wake_signal: WakeSignal,
        times: ConsumerTimes,
        rate_per_s: float | None,
    ) -> None:
        self._engine = engine
        self._shares = shares
        self._wake_signal = wake_signal
        self._times = times
        self._rate_per_s = rate_per_s
        self._fetching = asyncio.Lock()
        self._name = uuid4().hex
        self._numbers = count(1)
        self._quiet_until = dict.fromkeys(shares.order(), 0.0)
        self._empty_looks = 0
        self._failures = 0
        self._open = True
        self._resumed = asyncio.Event()
        self._resumed.set()

    def close(self) -> None:
        """Ends all waits: `next` returns None from now on."""
        self._open = False
        self._resumed.set()
        self._wake_signal.wake()

    def pause(self) -> None:
        self._resumed.clear()
        self._wake_signal.wake()

    def resume(self) -> None:
        self._resumed.set()

    @property
    def is_paused(self) -> bool:
        return not self._resumed.is_set()

    async def next(self) -> tuple[LockedJob, bool] | None:
        """Returns a job and whether it was waiting already; None when closed."""
        empty_looks = self._empty_looks
        async with self._fetching:
            while self._open:
                if self.is_paused:
                    self._empty_looks += 1
                    await self._resumed.wait()
                    continue
                self._wake_signal.clear()
                found = await self._look()
                if isinstance(found, LockedJob):
                    return found, empty_looks == self._empty_looks
                if not found.limited:
                    self._empty_looks += 1
                await self._wake_signal.wait(min(found.after_s, self._times.poll_s))
        return None

    async def _look(self) -> LockedJob | NoJob:
        try:
            found = await self._ask_queues()
        except QueueDown as fault:
            if not self._failures:
                log.warning("queue.down", error=str(fault))
            self._failures += 1
            return NoJob(after_s=retry_after_s(self._failures, self._times))
        if self._failures:
            log.info("queue.back")
            self._failures = 0
        return found

    async def _ask_queues(self) -> LockedJob | NoJob:
        """Asks queues that were just found empty last, and only if no other has a job."""
        order, now = self._shares.order(), time.monotonic()
        if not self._shares.strict:
            order = sorted(order, key=lambda queue: self._quiet_until[queue] > now)
        answers: list[NoJob] = []
        for queue in order:
            token = f"{self._name}:{next(self._numbers)}"
            answer = await self._engine.take(
                queue, token, self._times.lease_s, self._rate_per_s
            )
            if isinstance(answer, LockedJob):
                self._shares.served(queue)
                return answer
            self._quiet_until[queue] = time.monotonic() + QUIET_S
            answers.append(answer)
        return NoJob(
            after_s=min(answer.after_s for answer in answers),
            limited=any(answer.limited for answer in answers),
        )


def retry_after_s(failures: int, times: ConsumerTimes) -> float:
    return float(min(0.1 * 2 ** min(failures - 1, 10), times.slowest_retry_s))
