"""One delivered job: start, judge, write down what came of it; in effect exactly once (Q1)."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Container
from dataclasses import dataclass
from typing import Final

import structlog

from deemster.domain.errors import LostRace, Unavailable
from deemster.domain.ids import SubmissionId
from deemster.domain.job import Task
from deemster.domain.lifecycle import Event
from deemster.domain.submission import JobDetails
from deemster.domain.timing import wall_ms
from deemster.pipeline.queue.delivery import DeliveredJob, Done, RetryLater
from deemster.pipeline.verdict.retry import give_up, send_again
from deemster.pipeline.verdict.settle import settle
from deemster.pipeline.verdict.start import Caps, Full, start
from deemster.pipeline.work.judge_service import JudgeResult
from deemster.pipeline.work.running import RunningJob, RunningJobs
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, transaction

log = structlog.get_logger()

COMPILE_S: Final = 60.0
OVERHEAD_S: Final = 30.0
"""A job's time beyond its compile and the sum of its limits."""
MEASURED_TWICE: Final = 2
"""A case near the limit is run again."""
WRITE_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 5.0
FULL_S: Final = 0.5
"""Pause before a job is tried again when as many jobs run as may."""


Judge = Callable[[JobDetails, Callable[[], None]], Awaitable[JudgeResult]]
"""Judges a submission, telling of each case that is done. What it raises is our failure."""


@dataclass(frozen=True, slots=True)
class JobExecutor:
    pool: Pool
    artifacts: Artifacts
    runs: RunningJobs
    judge: Judge
    caps: Caps
    languages: Container[str]
    """Those that work here now."""
    lease_s: float
    most_attempts: int

    async def handle(self, delivered: DeliveredJob) -> Done | RetryLater:
        """The queue's handler: says whether the job is done or has to come again later."""
        submission = delivered.errand.submission
        structlog.contextvars.bind_contextvars(jobId=delivered.errand.job_id)
        try:
            await self.run(submission, delivered.hold)
        except Full:
            return RetryLater(FULL_S)
        except LostRace as lost:
            log.info("job.dropped", submissionId=submission, reason=str(lost))
        except Unavailable as fault:
            # Nothing was begun: the job itself comes again.
            log.warning("job.put_off", submissionId=submission, error=str(fault))
            return RetryLater(FULL_S)
        return Done()

    async def run(
        self, submission: SubmissionId, hold: Callable[[float], Awaitable[None]]
    ) -> None:
        """`hold` keeps the job's lock for as long as a part of the run may take (Q5).

        A `Full` says that it must come again later; any other lost race ends quietly here.
        """
        brief = await start(
            self.pool,
            submission,
            self.runs.worker,
            lease_s=self.lease_s,
            caps=self.caps,
            languages=self.languages,
        )
        began = time.monotonic()
        with self.runs.tracked(brief) as run:
            try:
                await hold(max(wall_ms(brief.time_ms) / 1000 + COMPILE_S + 5, 15))
                outcome = await self._judge(run)
            except asyncio.CancelledError:
                await asyncio.shield(self._hand_back(brief))
                raise
            result = await self._write(run, outcome)
        log.info(
            "job.done",
            submissionId=brief.id,
            taskType=Task.RUN,
            attempt=brief.attempt,
            language=brief.language,
            latencyMs=round((time.monotonic() - began) * 1000),
            result=result,
        )

    def deadline_s(self, brief: JobDetails) -> float:
        """The sum of its limits and something beyond (Q4): nothing outlives its job."""
        cases_s = brief.cases * MEASURED_TWICE * wall_ms(brief.time_ms) / 1000
        return COMPILE_S + cases_s + OVERHEAD_S

    async def _judge(self, run: RunningJob) -> JudgeResult | Exception:
        # It may have been lost before there was a scope to end.
        deadline_s = 0 if run.lost else self.deadline_s(run.brief)
        try:
            async with asyncio.timeout(deadline_s) as run.scope:
                return await self.judge(run.brief, run.count)
        except TimeoutError as fault:
            if run.scope is not None and run.scope.expired():
                return Unavailable("The job took longer than all of its limits together.")
            return fault
        except Exception as fault:  # whatever it is, the submission is not lost
            log.warning("judge.failed", submissionId=run.brief.id, exc_info=fault)
            return fault
        finally:
            run.scope = None

    async def _write(self, run: RunningJob, outcome: JudgeResult | Exception) -> str:
        """Keeps trying while the database is away: the verdict is worth the wait."""
        pause_s = WRITE_PAUSE_S
        while not run.lost:
            try:
                return await asyncio.shield(self._write_once(run.brief, outcome))
            except LostRace:
                break
            except Unavailable as fault:
                log.warning("settle.waiting", submissionId=run.brief.id, error=str(fault))
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        return "superseded"

    async def _write_once(self, brief: JobDetails, outcome: JudgeResult | Exception) -> str:
        if isinstance(outcome, Exception):
            again = await give_up(self.pool, brief, outcome, most_attempts=self.most_attempts)
            return "retry" if again else "failed"
        await settle(
            self.pool,
            self.artifacts,
            brief,
            outcome.judgement,
            show_groups=outcome.show_groups,
        )
        return str(outcome.judgement.verdict)

    async def _hand_back(self, brief: JobDetails) -> None:
        """The worker is stopped: another one begins anew (Q14)."""
        try:
            async with transaction(self.pool) as connection:
                await send_again(
                    connection,
                    Event.RESCUE,
                    brief.id,
                    brief.attempt,
                    reason="its worker was stopped",
                )
        except (LostRace, Unavailable) as fault:
            log.warning("run.not_handed_back", submissionId=brief.id, error=str(fault))
