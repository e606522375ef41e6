"""Runs jobs from the queue, one in each slot, until it is drained or stopped.

A consumer can claim jobs ahead: then each slot may also have a job that is made ready, and one
whose result is recorded, and each compile slot a job whose program is compiled."""

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
from deemster.metrics import EXPIRED_LOCKS
from deemster.pipeline.queue.engine import Engine, LockedJob, LostLock, QueueDown, WakeSignal
from deemster.pipeline.queue.fetcher import (
    DeliveredJob,
    Done,
    FairShare,
    Handler,
    JobFetcher,
    JobLock,
    JobLocks,
    RetryLater,
    retry_after_s,
)
from deemster.pipeline.queue.messages import unpack
from deemster.pipeline.queue.slots import GivenBack, Slots, SlotTurn
from deemster.pipeline.queue.stores import open_engine
from deemster.pipeline.queue.topology import ConsumerTimes

log = structlog.get_logger()

STOP_S: Final = 10.0
JOBS_PER_SLOT: Final = 3
"""One that is made ready, one in the slot, and one whose result is recorded."""
NEWEST_WEIGHT: Final = 0.02
"""Weight of the newest job in the mean. Jobs differ in length by a hundred times: with a fifth,
every other estimate for a mixed queue would be off by more than a quarter."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The handler or the payload failed; only this reason is written into the queue."""

    reason: str


@dataclass(frozen=True, slots=True)
class Returned:
    """The job goes back to its place in its queue, for another worker."""


Ending = Done | RetryLater | Failed | Returned


class Consumer:
    def __init__(
        self,
        engine: Engine,
        handlers: Mapping[QueueName, Handler],
        *,
        slots: int,
        compile_slots: int,
        compiling: Callable[[], int],
        strict: bool,
        rate_per_s: float | None,
        times: ConsumerTimes,
    ) -> None:
        self._engine = engine
        self._handlers = handlers
        self._count = slots
        self._claims_ahead = times.ahead_s is not None
        self._most_jobs = slots * JOBS_PER_SLOT + compile_slots if self._claims_ahead else slots
        self._slots = Slots(
            slots, times.ahead_s or 0, compile_slots=compile_slots, compiling=compiling
        )
        self._times = times
        self._wake_signal = WakeSignal()
        shares = FairShare(handlers, strict=strict)
        self._fetcher = JobFetcher(engine, shares, self._wake_signal, times, rate_per_s)
        self._locks = JobLocks(engine)
        self._cycle = CycleTime()
        self._handling: dict[asyncio.Task[None], SlotTurn] = {}
        self._draining = asyncio.Event()
        self._stopping = False
        self._ended = asyncio.Event()
        self._ended.set()

    @classmethod
    @asynccontextmanager
    async def open(  # noqa: PLR0913 - options of a consumer
        cls,
        url: str,
        env: str,
        handlers: Mapping[QueueName, Handler],
        *,
        slots: int,
        compile_slots: int = 0,
        compiling: Callable[[], int] = lambda: 0,
        strict: bool = False,
        rate_per_s: float | None = None,
        name: str,
        times: ConsumerTimes | None = None,
    ) -> AsyncIterator[Self]:
        """`rate_per_s` limits each queue, for all consumers of the environment together.

        With `times.ahead_s` it claims as many jobs ahead as it has slots and compile slots, and
        its handlers use `DeliveredJob.in_slot`. `compiling` tells how many of them are compiled
        in compile slots.
        """
        engine = open_engine(url, env, f"deemster:{env}:{name}")
        try:
            yield cls(
                engine,
                handlers,
                slots=slots,
                compile_slots=compile_slots,
                compiling=compiling,
                strict=strict,
                rate_per_s=rate_per_s,
                times=times or ConsumerTimes(),
            )
        finally:
            await engine.close()

    @property
    def cycle_s(self) -> float | None:
        """Mean time from asking for a waiting job until it is done."""
        return self._cycle.mean_s

    @property
    def busy(self) -> int:
        """Slots in use."""
        return self._slots.busy

    @property
    def is_full(self) -> bool:
        """Whether every slot has a job."""
        return self.busy >= self._count

    async def run(self) -> None:
        """Returns when drained or stopped, and the last job is done or back in its queue."""
        self._ended.clear()
        try:
            async with asyncio.TaskGroup() as group:
                services = {
                    group.create_task(self._insist(service))
                    for service in (self._listen, self._rescue, self._locks.keep_renewing)
                }
                try:
                    await self._run_slots()
                finally:
                    await end(services)
        finally:
            self._ended.set()

    def drain(self) -> None:
        """Takes no new jobs; those in slots finish, and the others go back (Q14)."""
        self._draining.set()
        self._fetcher.close()
        self._slots.close()
        self._give_back()

    def _give_back(self) -> None:
        """Nobody waits for a program that is compiled only to be compiled elsewhere again."""
        for task, turn in self._handling.items():
            if turn.give_back():
                task.cancel()

    @property
    def is_draining(self) -> bool:
        return self._draining.is_set()

    def pause(self) -> None:
        """Takes no new jobs until `resume`; those in slots finish, and the others go back."""
        if not self.is_draining:
            self._fetcher.pause()
            self._slots.pause()
            self._give_back()

    def resume(self) -> None:
        self._slots.resume()
        self._fetcher.resume()

    @property
    def is_paused(self) -> bool:
        return self._fetcher.is_paused

    async def stop(self) -> None:
        """Cancels the handlers at once; their jobs go back to their queues (Q14)."""
        self._stopping = True
        self.drain()
        for task, turn in self._handling.items():
            if not turn.is_given_back:
                task.cancel()
        try:
            async with asyncio.timeout(STOP_S):
                await self._ended.wait()
        except TimeoutError:
            log.warning("queue.handlers_not_ended", jobs=len(self._handling))

    async def _run_slots(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(self._most_jobs):
                group.create_task(self._insist(self._run_jobs))
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
                await asyncio.sleep(self._times.slowest_retry_s)

    async def _run_jobs(self) -> None:
        while True:
            async with self._slots.claiming() as turn:
                found = await self._fetcher.next()
                if found is None:
                    return
                locked, was_there = found
                turn.claimed()
                ending = await self._work(locked, turn)
            if was_there and isinstance(ending, Done) and turn.cycle_s:
                self._cycle.add(turn.cycle_s)

    async def _work(self, locked: LockedJob, turn: SlotTurn) -> Ending:
        task = asyncio.current_task()
        assert task is not None
        with self._locks.holding(locked, self._times.lock_s) as lock:
            self._handling[task] = turn
            try:
                ending = await self._handle(locked, lock, turn)
            except asyncio.CancelledError:
                await self._finish(locked, Returned(), patience_s=0)
                if not (self._stopping or turn.is_given_back) or task.uncancel() > 0:
                    raise
                return Returned()
            finally:
                del self._handling[task]
            await self._finish(locked, ending, patience_s=self._times.lock_s)
            return ending

    async def _handle(self, locked: LockedJob, lock: JobLock, turn: SlotTurn) -> Ending:
        if self._stopping or not self._slots.is_open:
            return Returned()  # it was fetched just before
        try:
            job = unpack(locked.data, locked.queue, locked.priority)
        except Refused as fault:
            log.warning(
                "job.bad_payload", jobId=locked.id, queue=locked.queue, error=str(fault)
            )
            return Failed(str(fault))
        try:
            if not self._claims_ahead:
                await turn.enter()
            return await self._handlers[locked.queue](DeliveredJob(job, lock, turn))
        except GivenBack:
            return Returned()
        except Exception as fault:  # one job must not take the others along
            log.exception("job.handler_failed", jobId=locked.id, queue=locked.queue)
            return Failed(short(fault))

    async def _finish(self, locked: LockedJob, ending: Ending, patience_s: float) -> None:
        """Tries until the lock may have expired; after that the job is delivered again."""
        give_up_at = time.monotonic() + patience_s
        for failures in count(1):
            try:
                await self._end(locked, ending)
            except LostLock as fault:
                log.info("job.lock_lost", jobId=locked.id, error=str(fault))
            except QueueDown as fault:
                pause_s = retry_after_s(failures, self._times)
                if not self._stopping and time.monotonic() + pause_s < give_up_at:
                    await asyncio.sleep(pause_s)
                    continue
                log.warning("job.not_ended", jobId=locked.id, error=str(fault))
            return

    async def _end(self, locked: LockedJob, ending: Ending) -> None:
        match ending:
            case Done():
                await self._engine.complete(locked)
            case RetryLater(delay_s):
                await self._engine.delay(locked, delay_s)
            case Failed(reason):
                await self._engine.fail(locked, reason)
            case Returned():
                await self._engine.return_job(locked)

    async def _listen(self) -> None:
        for failures in count(1):
            started_at = time.monotonic()
            try:
                await self._engine.listen(self._handlers.keys(), self._wake_signal)
            except QueueDown as fault:
                log.debug("queue.listener_lost", error=str(fault))
                self._wake_signal.wake()  # a wake-up may have been lost with the connection
            lasted_s = time.monotonic() - started_at
            await asyncio.sleep(max(retry_after_s(failures, self._times) - lasted_s, 0.1))

    async def _rescue(self) -> None:
        while True:
            for queue in self._handlers:
                try:
                    ids = await self._engine.rescue(queue, self._times.stalled_s)
                except QueueDown as fault:
                    log.debug("queue.not_rescued", queue=queue, error=str(fault))
                    break
                EXPIRED_LOCKS.labels(queue).inc(len(ids))
                for job_id in ids:
                    log.warning("job.lost_its_worker", jobId=job_id, queue=queue)
            await asyncio.sleep(self._times.stalled_s)


class CycleTime:
    """Mean time that a slot takes for a job while there is work: the base of estimates (A4)."""

    def __init__(self) -> None:
        self.mean_s: float | None = None
        self._jobs = 0

    def add(self, job_s: float) -> None:
        """The first job only counts until there is a second: it had to fetch everything."""
        self._jobs += 1
        if self.mean_s is None:
            self.mean_s = job_s
        else:
            weight = max(NEWEST_WEIGHT, 1 / (self._jobs - 1))
            self.mean_s += weight * (job_s - self.mean_s)


def short(fault: Exception) -> str:
    """Leaves the message out: it may hold what a queue must not (Q10)."""
    return fault.code if isinstance(fault, DeemsterError) else type(fault).__name__


async def end(tasks: set[asyncio.Task[None]]) -> None:
    """Cancels repeatedly: before Python 3.12, `wait_for` in a driver can swallow one."""
    while tasks:
        for task in tasks:
            task.cancel()
        _, tasks = await asyncio.wait(tasks, timeout=0.2)
