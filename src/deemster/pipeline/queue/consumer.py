"""Works on jobs: as many at once as there are slots, until it is told to drain or to stop."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from typing import Final, Self

import structlog

from deemster.domain.errors import DeemsterError, Refused
from deemster.domain.job import QueueName
from deemster.pipeline.queue.cycle_time import CycleTime
from deemster.pipeline.queue.delivery import DeliveredJob, Done, Handler, RetryLater
from deemster.pipeline.queue.engine import Engine, LockedJob
from deemster.pipeline.queue.errors import LostLock, QueueDown
from deemster.pipeline.queue.fair_share import FairShare
from deemster.pipeline.queue.fetcher import JobFetcher, retry_after_s
from deemster.pipeline.queue.leases import Lease, Leases
from deemster.pipeline.queue.messages import unpack
from deemster.pipeline.queue.stores import open_engine
from deemster.pipeline.queue.topology import Pace
from deemster.pipeline.queue.wakeup import WakeSignal

log = structlog.get_logger()

STOP_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Failed:
    """The handler, or the payload. Nothing of either is written into the queue but this."""

    reason: str


@dataclass(frozen=True, slots=True)
class Returned:
    """To its queue, for another worker."""


Ending = Done | RetryLater | Failed | Returned


class Consumer:
    def __init__(
        self,
        engine: Engine,
        handlers: Mapping[QueueName, Handler],
        *,
        slots: int,
        strict: bool,
        rate_per_s: float | None,
        pace: Pace,
    ) -> None:
        self._engine = engine
        self._handlers = handlers
        self._slots = slots
        self._pace = pace
        self._bell = WakeSignal()
        shares = FairShare(handlers, strict=strict)
        self._taker = JobFetcher(engine, shares, self._bell, pace, rate_per_s)
        self._leases = Leases(engine)
        self._cycle = CycleTime()
        self._handling: set[asyncio.Task[None]] = set()
        self._draining = asyncio.Event()
        self._stopping = False
        self._ended = asyncio.Event()
        self._ended.set()

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        url: str,
        env: str,
        handlers: Mapping[QueueName, Handler],
        *,
        slots: int,
        strict: bool = False,
        rate_per_s: float | None = None,
        name: str,
        pace: Pace | None = None,
    ) -> AsyncIterator[Self]:
        """The rate is that of each queue, shared by all consumers of the environment."""
        engine = open_engine(url, env, f"deemster:{env}:{name}")
        try:
            yield cls(
                engine,
                handlers,
                slots=slots,
                strict=strict,
                rate_per_s=rate_per_s,
                pace=pace or Pace(),
            )
        finally:
            await engine.close()

    @property
    def cycle_s(self) -> float | None:
        """The mean time from asking for a job that is there until done with it."""
        return self._cycle.mean_s

    @property
    def busy(self) -> int:
        return len(self._handling)

    async def run(self) -> None:
        """Returns when drained or stopped, and the last job is done or back in its queue."""
        self._ended.clear()
        try:
            async with asyncio.TaskGroup() as group:
                services = {
                    group.create_task(self._insist(service))
                    for service in (self._listen, self._rescue, self._leases.keep)
                }
                try:
                    await self._run_slots()
                finally:
                    await end(services)
        finally:
            self._ended.set()

    def drain(self) -> None:
        """No new jobs; the current ones finish (Q14)."""
        self._draining.set()
        self._taker.close()

    @property
    def is_draining(self) -> bool:
        return self._draining.is_set()

    def hold(self) -> None:
        """No new jobs until `go`; the current ones finish."""
        if not self.is_draining:
            self._taker.hold()

    def go(self) -> None:
        self._taker.go()

    @property
    def is_held(self) -> bool:
        return self._taker.is_held

    async def stop(self) -> None:
        """At once: handlers are cancelled, and their jobs go back to their queues (Q14)."""
        self._stopping = True
        self.drain()
        for task in self._handling:
            task.cancel()
        try:
            async with asyncio.timeout(STOP_S):
                await self._ended.wait()
        except TimeoutError:
            log.warning("queue.handlers_not_ended", jobs=self.busy)

    async def _run_slots(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(self._slots):
                group.create_task(self._insist(self._slot))
            try:
                await self._draining.wait()
            except asyncio.CancelledError:
                self._stopping = True
                self.drain()
                raise

    async def _insist(self, work: Callable[[], Awaitable[None]]) -> None:
        """Repeats it until it returns: no fault of a store or its driver may end a worker."""
        while True:
            try:
                return await work()
            except Exception:
                log.exception("queue.crashed", work=work.__name__)
                await asyncio.sleep(self._pace.slowest_retry_s)

    async def _slot(self) -> None:
        asked_at = time.monotonic()
        while (found := await self._taker.next()) is not None:
            taken, was_there = found
            ending = await self._work(taken)
            ended_at = time.monotonic()
            if was_there and isinstance(ending, Done):
                self._cycle.add(ended_at - asked_at)
            asked_at = ended_at

    async def _work(self, taken: LockedJob) -> Ending:
        task = asyncio.current_task()
        assert task is not None
        with self._leases.holding(taken, self._pace.lease_s) as lease:
            self._handling.add(task)
            try:
                ending = await self._handle(taken, lease)
            except asyncio.CancelledError:
                await self._finish(taken, Returned(), patience_s=0)
                if not self._stopping or task.uncancel() > 0:
                    raise
                return Returned()
            finally:
                self._handling.discard(task)
            await self._finish(taken, ending, patience_s=self._pace.lease_s)
            return ending

    async def _handle(self, taken: LockedJob, lease: Lease) -> Ending:
        if self._stopping:
            return Returned()
        try:
            errand = unpack(taken.data, taken.queue, taken.priority)
        except Refused as fault:
            log.warning("job.bad_payload", jobId=taken.id, queue=taken.queue, error=str(fault))
            return Failed(str(fault))
        try:
            return await self._handlers[taken.queue](DeliveredJob(errand, lease))
        except Exception as fault:  # one job must not take the others along
            log.exception("job.handler_failed", jobId=taken.id, queue=taken.queue)
            return Failed(short(fault))

    async def _finish(self, taken: LockedJob, ending: Ending, patience_s: float) -> None:
        """Tries while the lock may last; after that the job comes again and finds its row."""
        give_up_at = time.monotonic() + patience_s
        for failures in count(1):
            try:
                await self._end(taken, ending)
            except LostLock as fault:
                log.info("job.lock_lost", jobId=taken.id, error=str(fault))
            except QueueDown as fault:
                pause_s = retry_after_s(failures, self._pace)
                if not self._stopping and time.monotonic() + pause_s < give_up_at:
                    await asyncio.sleep(pause_s)
                    continue
                log.warning("job.not_ended", jobId=taken.id, error=str(fault))
            return

    async def _end(self, taken: LockedJob, ending: Ending) -> None:
        match ending:
            case Done():
                await self._engine.complete(taken)
            case RetryLater(delay_s):
                await self._engine.delay(taken, delay_s)
            case Failed(reason):
                await self._engine.fail(taken, reason)
            case Returned():
                await self._engine.give_back(taken)

    async def _listen(self) -> None:
        for failures in count(1):
            started_at = time.monotonic()
            try:
                await self._engine.listen(self._handlers.keys(), self._bell)
            except QueueDown as fault:
                log.debug("queue.deaf", error=str(fault))
            lasted_s = time.monotonic() - started_at
            await asyncio.sleep(max(retry_after_s(failures, self._pace) - lasted_s, 0.1))

    async def _rescue(self) -> None:
        while True:
            for queue in self._handlers:
                try:
                    ids = await self._engine.rescue(queue, self._pace.stalled_s)
                except QueueDown as fault:
                    log.debug("queue.not_rescued", queue=queue, error=str(fault))
                    break
                for job_id in ids:
                    log.warning("job.lost_its_worker", jobId=job_id, queue=queue)
            await asyncio.sleep(self._pace.stalled_s)


def short(fault: Exception) -> str:
    """Never the message: it may hold what a queue must not."""
    return fault.code if isinstance(fault, DeemsterError) else type(fault).__name__


async def end(tasks: set[asyncio.Task[None]]) -> None:
    """More than once: before Python 3.12, `wait_for` in a driver can swallow a cancellation."""
    while tasks:
        for task in tasks:
            task.cancel()
        _, tasks = await asyncio.wait(tasks, timeout=0.2)
