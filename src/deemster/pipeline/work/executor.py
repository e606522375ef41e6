"""Executes one delivered job: starts it, judges it and records the result exactly once (Q1)."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Container
from dataclasses import dataclass
from typing import Final

import structlog

from deemster.domain.errors import LostRace, Unavailable
from deemster.domain.ids import SubmissionId
from deemster.domain.job import Task
from deemster.domain.judgement import JuryJudgement, JuryText
from deemster.domain.lifecycle import Event
from deemster.domain.limits import wall_ms
from deemster.domain.source import Source, unpack_files
from deemster.domain.submission import JobDetails
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.jury.programs import JuryFault
from deemster.pipeline.judge.prepared_problem import PreparedProblems
from deemster.pipeline.judge.sources import contestant_source
from deemster.pipeline.queue.fetcher import DeliveredJob, Done, RetryLater
from deemster.pipeline.verdict.attempt import Caps, Full, settle, start
from deemster.pipeline.verdict.retry import requeue, retry_or_fail
from deemster.pipeline.work.heartbeat import RunningJob, RunningJobs
from deemster.programs.build.compiler import BuildTools
from deemster.store.artifacts import Artifacts
from deemster.store.inline_artifacts import fetch
from deemster.store.pool import Pool, connection, transaction

log = structlog.get_logger()

COMPILE_S: Final = 60.0
OVERHEAD_S: Final = 30.0
"""A job's time beyond its compile and the sum of its limits."""
MEASURED_TWICE: Final = 2
"""A case near the limit is run again."""
FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 5.0
FULL_S: Final = 0.5
"""Pause before a job is tried again when as many jobs run as may."""


@dataclass(frozen=True, slots=True)
class JudgeResult:
    judgement: JuryJudgement
    show_groups: bool = True


@dataclass(frozen=True, slots=True)
class JudgeService:
    pool: Pool
    artifacts: Artifacts
    build_tools: BuildTools
    problems: PreparedProblems

    async def judge(self, details: JobDetails, on_case: Callable[[], None]) -> JudgeResult:
        async with connection(self.pool) as acquired:
            bundle = await fetch(acquired, self.artifacts, details.source)
        catalogue = self.build_tools.catalogue
        language = catalogue.named(details.language)
        source = Source(unpack_files(bundle), main=details.main)
        try:
            async with self.problems.prepared(details.revision) as problem:
                complete_source = await asyncio.to_thread(
                    contestant_source,
                    problem.root,
                    problem.problem,
                    language,
                    source,
                    catalogue,
                )
                judgement = await problem.judge(
                    language,
                    complete_source,
                    time_ms=details.time_ms,
                    on_case=lambda _: on_case(),
                )
                return JudgeResult(judgement, problem.problem.show_groups)
        except JuryFault as fault:
            return JudgeResult(JuryJudgement(Verdict.JUDGE_ERROR, fault=JuryText(str(fault))))


Judge = Callable[[JobDetails, Callable[[], None]], Awaitable[JudgeResult]]
"""Judges a submission and calls back after each case; an exception is the judge's failure."""


@dataclass(frozen=True, slots=True)
class JobExecutor:
    pool: Pool
    artifacts: Artifacts
    running_jobs: RunningJobs
    judge: Judge
    caps: Caps
    languages: Container[str]
    """Languages whose toolchains this worker has."""
    lease_s: float
    most_attempts: int
    on_event: Callable[[], None] = lambda: None
    """Called after each commit of an event, so that clients are told at once."""

    async def handle(self, delivered: DeliveredJob) -> Done | RetryLater:
        """Answers the queue whether the job is done or has to come again later."""
        submission = delivered.job.submission
        structlog.contextvars.bind_contextvars(jobId=delivered.job.job_id)
        try:
            await self.run(submission, delivered.set_lease)
        except Full:
            return RetryLater(FULL_S)
        except LostRace as lost:
            log.info("job.dropped", submissionId=submission, reason=str(lost))
        except Unavailable as fault:
            # Nothing was started: the same job comes again.
            log.warning("job.put_off", submissionId=submission, error=str(fault))
            return RetryLater(FULL_S)
        return Done()

    async def run(
        self, submission: SubmissionId, set_lease: Callable[[float], Awaitable[None]]
    ) -> None:
        """`set_lease` makes the job's lock last as long as one part of the run may take (Q5).

        Raises `Full` when the job must come again later.
        """
        details = await start(
            self.pool,
            submission,
            self.running_jobs.worker,
            lease_s=self.lease_s,
            caps=self.caps,
            languages=self.languages,
        )
        self.on_event()
        began = time.monotonic()
        with self.running_jobs.tracked(details) as running:
            try:
                await set_lease(max(wall_ms(details.time_ms) / 1000 + COMPILE_S + 5, 15))
                outcome = await self._judge(running)
            except asyncio.CancelledError:
                await asyncio.shield(self._return(details))
                raise
            result = await self._record(running, outcome)
            self.on_event()
        log.info(
            "job.done",
            submissionId=details.id,
            taskType=Task.RUN,
            attempt=details.attempt,
            language=details.language,
            latencyMs=round((time.monotonic() - began) * 1000),
            result=result,
        )

    def deadline_s(self, details: JobDetails) -> float:
        """The sum of its limits and a margin (Q4), so that no run outlives its job."""
        cases_s = details.cases * MEASURED_TWICE * wall_ms(details.time_ms) / 1000
        return COMPILE_S + cases_s + OVERHEAD_S

    async def _judge(self, running: RunningJob) -> JudgeResult | Exception:
        # The job may have been lost before there was a timeout to cut short.
        deadline_s = 0 if running.lost else self.deadline_s(running.details)
        try:
            async with asyncio.timeout(deadline_s) as running.scope:
                return await self.judge(running.details, running.count)
        except TimeoutError as fault:
            if running.scope is not None and running.scope.expired():
                return Unavailable("The job took longer than all of its time limits together.")
            return fault
        except Exception as fault:  # whatever failed, the submission must get a result
            log.warning("judge.failed", submissionId=running.details.id, exc_info=fault)
            return fault
        finally:
            running.scope = None

    async def _record(self, running: RunningJob, outcome: JudgeResult | Exception) -> str:
        """Tries until the database answers, so that a verdict is not lost."""
        pause_s = FIRST_PAUSE_S
        while not running.lost:
            try:
                return await asyncio.shield(self._record_once(running.details, outcome))
            except LostRace:
                break
            except Unavailable as fault:
                log.warning("settle.waiting", submissionId=running.details.id, error=str(fault))
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        return "superseded"

    async def _record_once(self, details: JobDetails, outcome: JudgeResult | Exception) -> str:
        if isinstance(outcome, Exception):
            again = await retry_or_fail(
                self.pool, details, outcome, most_attempts=self.most_attempts
            )
            return "retry" if again else "failed"
        await settle(
            self.pool,
            self.artifacts,
            details,
            outcome.judgement,
            show_groups=outcome.show_groups,
        )
        return str(outcome.judgement.verdict)

    async def _return(self, details: JobDetails) -> None:
        """Queues the job again when this worker is stopped (Q14)."""
        try:
            async with transaction(self.pool) as connection:
                await requeue(
                    connection,
                    Event.RESCUE,
                    details.id,
                    details.attempt,
                    reason="the worker was stopped",
                )
        except (LostRace, Unavailable) as fault:
            log.warning("job.not_returned", submissionId=details.id, error=str(fault))
