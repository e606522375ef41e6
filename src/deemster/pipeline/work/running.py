"""What a worker runs now: it beats for all of them, and drops those that are not its own."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import structlog

from deemster.domain.ids import SubmissionId, WorkerId
from deemster.domain.submission import JobDetails, Progress
from deemster.store import leases
from deemster.store.pool import Pool, connection

log = structlog.get_logger()


@dataclass(slots=True)
class RunningJob:
    brief: JobDetails
    scope: asyncio.Timeout | None = None
    lost: bool = False
    """It was rescued or cancelled: whatever comes of it counts no more."""
    done: int = 0
    total: int = 0

    def count(self) -> None:
        """A case more is done (J10)."""
        self.done = min(self.done + 1, self.total)

    def abandon(self) -> None:
        """Kills what runs: the end of its scope ends the program."""
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
    def tracked(self, brief: JobDetails) -> Iterator[RunningJob]:
        run = RunningJob(brief, total=brief.cases)
        self._running[brief.id] = run
        try:
            yield run
        finally:
            if self._running.get(brief.id) is run:
                del self._running[brief.id]

    async def beat(self) -> None:
        """Says what still runs, and how far it is; hears what is not ours any more."""
        running = list(self._running.values())
        if not running:
            return
        shown = {
            (run.brief.id, run.brief.attempt): Progress(run.done, run.total) for run in running
        }
        async with connection(self._pool) as acquired:
            ours = await leases.beat(acquired, self.worker, shown)
        for run in running:
            if run.brief.id not in ours and self._running.get(run.brief.id) is run:
                self.abandon(run.brief.id)

    def abandon(self, submission: SubmissionId) -> None:
        run = self._running.get(submission)
        if run is not None and not run.lost:
            log.info("run.abandoned", submissionId=submission, attempt=run.brief.attempt)
            run.abandon()

    def abandon_all(self) -> None:
        for submission in list(self._running):
            self.abandon(submission)
