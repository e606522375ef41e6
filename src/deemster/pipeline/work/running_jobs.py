"""The jobs that this worker runs: renews their leases and stops those that it has lost."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import structlog

from deemster.domain.ids import SubmissionId, WorkerId
from deemster.domain.submission import JobDetails, JudgingProgress
from deemster.store import leases
from deemster.store.pool import Pool, connection

log = structlog.get_logger()


@dataclass(slots=True)
class RunningJob:
    details: JobDetails
    scope: asyncio.Timeout | None = None
    lost: bool = False
    """The job was rescued or cancelled, so its result no longer counts."""
    done: int = 0
    total: int = 0

    def count(self) -> None:
        """Counts a finished case (J10)."""
        self.done = min(self.done + 1, self.total)

    def abandon(self) -> None:
        """Ends the timeout scope at once, which kills the program."""
        if not self.lost:
            self.lost = True
            if self.scope is not None:
                self.scope.reschedule(asyncio.get_running_loop().time())


class RunningJobs:
    def __init__(self, pool: Pool, worker: WorkerId) -> None:
        self._pool = pool
        self.worker = worker
        self._running: dict[SubmissionId, RunningJob] = {}

    def __len__(self) -> int:
        return len(self._running)

    @contextmanager
    def tracked(self, details: JobDetails) -> Iterator[RunningJob]:
        job = RunningJob(details, total=details.cases)
        self._running[details.id] = job
        try:
            yield job
        finally:
            if self._running.get(details.id) is job:
                del self._running[details.id]

    async def beat(self) -> None:
        """Renews the leases, reports progress, and abandons jobs that this worker has lost."""
        running = list(self._running.values())
        if not running:
            return
        shown = {
            (job.details.id, job.details.attempt): JudgingProgress(job.done, job.total)
            for job in running
        }
        async with connection(self._pool) as acquired:
            ours = await leases.renew(acquired, self.worker, shown)
        for job in running:
            if job.details.id not in ours and self._running.get(job.details.id) is job:
                self.abandon(job.details.id)

    def abandon(self, submission: SubmissionId) -> None:
        job = self._running.get(submission)
        if job is not None and not job.lost:
            log.info("run.abandoned", submissionId=submission, attempt=job.details.attempt)
            job.abandon()

    def abandon_all(self) -> None:
        for submission in list(self._running):
            self.abandon(submission)
