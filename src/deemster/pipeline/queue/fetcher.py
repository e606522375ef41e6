"""Fetches the next job for a free slot, by weight of its queue (Q8), and renews its lock."""

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


class JobLock:
    """The lock on a job that this consumer has; it is renewed every third of its duration."""

    def __init__(self, locked: LockedJob, lock_s: float, locks: "JobLocks") -> None:
        self.locked = locked
        self.lock_s = lock_s
        self.renew_at = time.monotonic() + lock_s / 3
        self._locks = locks

    def change(self, lock_s: float) -> None:
        """Changes the duration of the lock.

        The lock is renewed only a moment later: most jobs have ended by then.
        """
        self.lock_s = lock_s
        self.renew_at = min(self.renew_at, time.monotonic() + SHORT_JOB_S)
        self._locks.wake()


class JobLocks:
    """The locks on all jobs that this consumer has."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._held: set[JobLock] = set()
        self._changed = asyncio.Event()

    @contextmanager
    def holding(self, locked: LockedJob, lock_s: float) -> Iterator[JobLock]:
        lock = JobLock(locked, lock_s, self)
        self._held.add(lock)
        self.wake()
        try:
            yield lock
        finally:
            self._held.discard(lock)

    def wake(self) -> None:
        """Looks again which locks are due."""
        self._changed.set()

    async def keep_renewing(self) -> None:
        """Renews locks for ever; during an outage of the store it tries again."""
        while True:
            await self._until_due()
            now = time.monotonic()
            due: dict[tuple[QueueName, float], list[JobLock]] = defaultdict(list)
            for lock in self._held:
                if lock.renew_at <= now:
                    due[lock.locked.queue, lock.lock_s].append(lock)
            for (queue, lock_s), locks in due.items():
                await self.renew(queue, lock_s, locks)

    async def renew(self, queue: QueueName, lock_s: float, locks: list[JobLock]) -> None:
        try:
            lost = await self._engine.renew(queue, [lock.locked for lock in locks], lock_s)
        except QueueDown as fault:
            log.warning("queue.locks_not_renewed", jobs=len(locks), error=str(fault))
            self._schedule(locks, lock_s / 10)
            return
        self._schedule(locks, lock_s / 3)
        for lock in locks:
            if lock.locked.token in lost and lock in self._held:
                # The handler finds out when it settles: the attempt fences it.
                log.warning("job.lock_lost", jobId=lock.locked.id)
                self._held.discard(lock)

    def _schedule(self, locks: list[JobLock], after_s: float) -> None:
        for lock in locks:
            lock.renew_at = time.monotonic() + after_s
        self.wake()

    async def _until_due(self) -> None:
        first = min((lock.renew_at for lock in self._held), default=time.monotonic() + IDLE_S)
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
    _lock: JobLock
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

    def set_lock(self, lock_s: float) -> None:
        """Changes how long the lock on the job lasts; it is renewed while the handler runs."""
        self._lock.change(lock_s)


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
            answer = await self._engine.take(queue, token, self._times.lock_s, self._rate_per_s)
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
