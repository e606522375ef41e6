"""Executes one delivered job: starts it, runs its stage and records the result once (Q1)."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Container
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

import structlog

from deemster.domain.errors import LostRace, Unavailable
from deemster.domain.ids import WorkId
from deemster.domain.job import QUEUE_OF, Task
from deemster.domain.job_events import events_of
from deemster.domain.judgement import OnCase
from deemster.domain.task_counts import DONE, RETRY
from deemster.domain.work import WorkDetails
from deemster.metrics import RUN_TIME
from deemster.pipeline.queue.fetcher import DeliveredJob, Done, RetryLater
from deemster.pipeline.queue.slots import GivenBack
from deemster.pipeline.verdict.attempt import Caps, Full, find_startable, start_found
from deemster.pipeline.verdict.retry import requeue, retry_or_fail
from deemster.pipeline.work.heartbeat import RunningJob, RunningJobs
from deemster.pipeline.work.job_metrics import count_start, count_verdict
from deemster.store.lifecycle import NewLease
from deemster.store.pool import Connection, Pool, connection, transaction
from deemster.telemetry import id_field

log = structlog.get_logger()

D = TypeVar("D", bound=WorkDetails)
R = TypeVar("R")

FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 5.0
FULL_S: Final = 0.5
"""Pause before a job is tried again when as many jobs run as may."""
FAILED: Final = "failed"
RETURNED: Final = "returned"
SUPERSEDED: Final = "superseded"
FAILURES: Final = frozenset({RETRY, FAILED, RETURNED, SUPERSEDED})
"""Outcomes of jobs without a result of their stage."""


class Stage(Protocol[D, R]):
    """What a worker does with one kind of job."""

    @property
    def task(self) -> Task: ...

    async def read(self, connection: Connection, work: WorkId) -> D | None: ...

    def parts(self, details: D) -> int:
        """How many parts of the run are counted as progress."""
        ...

    def lock_s(self, details: D) -> float:
        """How long one part of the run may take, with its compile (Q5)."""
        ...

    def deadline_s(self, details: D) -> float:
        """How long the whole run may take (Q4)."""
        ...

    async def run(self, details: D, on_part: OnCase) -> R:
        """An exception is a failure of Deemster, never of the program."""
        ...

    async def settle(self, details: D, result: R) -> str:
        """Records the result in one transaction; returns it in a word, for the log."""
        ...


ReadyRun = Callable[[D, OnCase], Awaitable[R]]
"""Does the same as `Stage.run`, with what was fetched before."""


@dataclass(frozen=True, slots=True)
class JobExecutor(Generic[D, R]):
    pool: Pool
    stage: Stage[D, R]
    running_jobs: RunningJobs
    caps: Caps
    languages: Container[str] | None
    """Languages whose toolchains this worker has; None: the stage needs no toolchain."""
    lease_s: float
    max_tries: int
    starting_pool: Pool | None = None
    """For starts, if their commits need not wait for the disk: a start that a crash of the
    database undoes is repeated, and the attempt that it had begun does not count."""
    runs_while_starting: bool = False
    """Whether a run begins before its start is committed. Nobody may see anything of such a
    run before its result is recorded: if the job can't be started, the run is ended."""
    ready: Callable[[D], AbstractAsyncContextManager[ReadyRun[D, R]]] | None = None
    """Fetches what the run needs, while the slots are still busy with other jobs. It must end
    by itself, whatever hangs."""
    on_start: Callable[[], None] = lambda: None
    """Called when the start of a job is committed, so that clients are told soon."""
    on_end: Callable[[], None] = lambda: None
    """Called when its result is committed, so that clients are told at once."""
    on_settled: Callable[[WorkId], None] | None = None
    """Called instead if the outcome of the run is known, and not that it has to be repeated."""

    async def handle(self, delivered: DeliveredJob) -> Done | RetryLater:
        """Answers the queue whether the job is done or has to come again later."""
        work = delivered.job.work
        structlog.contextvars.bind_contextvars(jobId=delivered.job.job_id)
        try:
            await self.run(work, delivered.set_lock, delivered.in_slot())
        except Full:
            return RetryLater(FULL_S)
        except GivenBack:
            raise  # the queue keeps the job
        except LostRace as lost:
            log.info("job.dropped", **id_field(work), reason=str(lost))
        except Unavailable as fault:
            # Nothing was started: the same job comes again.
            log.warning("job.put_off", **id_field(work), error=str(fault))
            return RetryLater(FULL_S)
        return Done()

    async def run(
        self,
        work: WorkId,
        set_lock: Callable[[float], None],
        slot: AbstractAsyncContextManager[None] | None = None,
    ) -> None:
        """`set_lock` makes the job's lock last as long as one part of the run may take (Q5).

        The job is started when it is in the slot, which another job gets as soon as the result
        is known. Raises `Full` when the job must come again later, and LostRace when another
        worker has it.
        """
        read_at = time.monotonic()
        found = await self._find_startable(work)
        async with AsyncExitStack() as ready, AsyncExitStack() as in_slot:
            run_stage = await self._make_ready(found, ready)
            await in_slot.enter_async_context(slot or nullcontext())
            began = time.monotonic()
            details = found.started()
            task, counts = self.stage.task, self.running_jobs.counts
            with self.running_jobs.tracked(details, self.stage.parts(details)) as running:
                try:
                    set_lock(self.stage.lock_s(details))
                    outcome = await self._start_and_run(found, details, running, run_stage)
                except asyncio.CancelledError:
                    await asyncio.shield(self._return(details))
                    raise
                if not self.caps.touches(details.language):
                    # Otherwise the next job would count this one as running, and be put off.
                    await in_slot.aclose()
                await ready.aclose()
                if running.is_returned and isinstance(outcome, Exception):
                    await asyncio.shield(self._return(details))
                    result = RETURNED
                else:
                    result = await self._record(details, running, outcome)
                if self.on_settled is not None and result not in FAILURES:
                    self.on_settled(details.id)
                else:
                    self.on_end()
        took_s = time.monotonic() - began
        counts.end(task, result if result in FAILURES else DONE, took_s)
        RUN_TIME.labels(QUEUE_OF[task], details.language).observe(took_s)
        if result not in FAILURES:
            count_verdict(details, result, details.age_s + time.monotonic() - read_at)
        await asyncio.sleep(0)  # clients are told before the log and the queue
        log.info(
            "job.done",
            **id_field(details.id),
            traceId=details.id.partition("_")[2],
            taskType=task,
            queue=QUEUE_OF[task],
            stage=task.step,
            userId=details.account,
            attempt=details.attempt,
            language=details.language,
            latencyMs=round(took_s * 1000),
            result=result,
        )

    async def _find_startable(self, work: WorkId) -> D:
        async with connection(self.pool) as acquired:
            return await find_startable(
                acquired,
                work,
                task=self.stage.task,
                read=self.stage.read,
                languages=self.languages,
            )

    async def _make_ready(self, found: D, stack: AsyncExitStack) -> ReadyRun[D, R]:
        if self.ready is None:
            return self.stage.run
        try:
            return await stack.enter_async_context(self.ready(found))
        except Exception as fault:  # the run meets the fault again, and reports it
            log.info("job.not_ready", **id_field(found.id), exc_info=fault)
            return self.stage.run

    async def _start_and_run(
        self, found: D, details: D, running: RunningJob, run_stage: ReadyRun[D, R]
    ) -> R | Exception:
        if self.caps.touches(found.language) or not self.runs_while_starting:
            await self._start(found, details, running)
            return await self._run_stage(details, running, run_stage)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._start(found, details, running))
                return await self._run_stage(details, running, run_stage)
        except BaseExceptionGroup as faults:  # it could not be started, which ended the run
            raise faults.exceptions[0] from None

    async def _start(self, found: D, details: D, running: RunningJob) -> None:
        lease = NewLease(self.running_jobs.worker, self.lease_s)
        async with connection(self.starting_pool or self.pool) as acquired:
            await start_found(acquired, found, lease, caps=self.caps)
        self.running_jobs.mark_started(running)
        self.on_start()
        self.running_jobs.counts.start(self.stage.task)
        count_start(details)

    async def _run_stage(
        self, details: D, running: RunningJob, run_stage: ReadyRun[D, R]
    ) -> R | Exception:
        if running.lost or running.is_returned:
            # It was cancelled while it was started, or the worker is ending already.
            return Unavailable("The job was taken from this worker before its run began.")
        try:
            async with asyncio.timeout(self.stage.deadline_s(details)) as running.scope:
                return await run_stage(details, running.count)
        except TimeoutError as fault:
            if running.scope is not None and running.scope.expired():
                return Unavailable("The job took longer than all of its time limits together.")
            return fault
        except Exception as fault:  # whatever failed, the user must get a result
            log.warning("job.failed", **id_field(details.id), exc_info=fault)
            return fault
        finally:
            running.scope = None

    async def _record(self, details: D, running: RunningJob, outcome: R | Exception) -> str:
        """Tries until the database answers, so that a result is not lost."""
        pause_s = FIRST_PAUSE_S
        while not running.lost:
            try:
                return await asyncio.shield(self._record_once(details, outcome))
            except LostRace:
                break
            except Unavailable as fault:
                log.warning("settle.waiting", **id_field(details.id), error=str(fault))
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        return SUPERSEDED

    async def _record_once(self, details: D, outcome: R | Exception) -> str:
        if isinstance(outcome, Exception):
            again = await retry_or_fail(self.pool, details, outcome, max_tries=self.max_tries)
            return RETRY if again else FAILED
        return await self.stage.settle(details, outcome)

    async def _return(self, details: D) -> None:
        """Queues the job again when this worker is stopped (Q14)."""
        try:
            async with transaction(self.pool) as connection:
                await requeue(
                    connection,
                    events_of(details.task).rescue,
                    details.id,
                    details.task,
                    details.attempt,
                    reason="the worker was stopped",
                )
        except (LostRace, Unavailable) as fault:
            log.warning("job.not_returned", **id_field(details.id), error=str(fault))
