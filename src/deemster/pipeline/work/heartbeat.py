"""Keeps the worker's row and leases alive; obeys drain, resume and cancel requests."""

import asyncio
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import structlog

from deemster.domain.errors import Unavailable
from deemster.domain.ids import WORKER, WorkerId, WorkId, new_id, work_id
from deemster.domain.judgement import CaseSoFar
from deemster.domain.submission import JudgingProgress
from deemster.domain.task_counts import JobCounts
from deemster.domain.work import WorkDetails
from deemster.pipeline.work.consumers import Consumers
from deemster.store import leases, workers
from deemster.store.notifications import Listener
from deemster.store.pool import Pool, connection
from deemster.store.workers import WorkerOrder, WorkerProcess
from deemster.telemetry import id_field

BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
BEAT_S: Final = 1.0
MAX_SHOWN_CASES: Final = 300
"""Verdicts of further cases are shown only when the submission has ended."""


log = structlog.get_logger()


@dataclass(slots=True, eq=False)
class RunningJob:
    details: WorkDetails
    scope: asyncio.Timeout | None = None
    is_started: bool = False
    """The start is committed, so the worker has a lease."""
    lost: bool = False
    """The job was rescued or cancelled, so its result no longer counts."""
    is_returned: bool = False
    """The worker ends and the job would take too long, so it goes back to the queue."""
    done: int = 0
    total: int = 0
    cases: list[CaseSoFar] = field(default_factory=list)

    def count(self, case: CaseSoFar) -> None:
        """Counts a judged case (J10)."""
        self.done = min(self.done + 1, self.total)
        if len(self.cases) < MAX_SHOWN_CASES:
            self.cases.append(case)

    @property
    def progress(self) -> JudgingProgress:
        return JudgingProgress(self.done, self.total, tuple(self.cases))

    def abandon(self) -> None:
        """Ends the timeout scope at once, which kills the program."""
        if not self.lost:
            self.lost = True
            self._end_scope()

    def give_back(self) -> None:
        """Also kills the program, which another worker starts again."""
        self.is_returned = True
        self._end_scope()

    def _end_scope(self) -> None:
        if self.scope is not None:
            self.scope.reschedule(asyncio.get_running_loop().time())


class RunningJobs:
    def __init__(self, pool: Pool, worker: WorkerId) -> None:
        self._pool = pool
        self.worker = worker
        self.counts = JobCounts()
        self._running: list[RunningJob] = []
        """A submission may be here twice: until this worker learns that it has lost the first
        run, and until it learns that it can't start a job that was delivered twice.
        """
        self._gives_back: Callable[[WorkDetails], bool] = lambda _: False

    def __len__(self) -> int:
        return len(self._running)

    @contextmanager
    def tracked(self, details: WorkDetails, parts: int) -> Iterator[RunningJob]:
        """`parts` are counted as progress: the cases of a submission."""
        job = RunningJob(details, total=parts, is_returned=self._gives_back(details))
        self._running.append(job)
        try:
            yield job
        finally:
            self._running.remove(job)

    def mark_started(self, job: RunningJob) -> None:
        """Its start is committed, so runs of earlier attempts on this worker are lost."""
        job.is_started = True
        started = [each for each in self._of(job.details.id) if each.is_started]
        newest = max(each.details.attempt for each in started)
        for each in started:
            if each.details.attempt < newest:
                self._abandon(each)

    async def beat(self) -> None:
        """Renews the leases, reports progress, and abandons jobs that this worker has lost."""
        running = [job for job in self._running if job.is_started and not job.lost]
        if not running:
            return
        shown = {(job.details.id, job.details.attempt): job.progress for job in running}
        async with connection(self._pool) as acquired:
            ours = await leases.renew(acquired, self.worker, shown)
        for job in running:
            if job.details.id not in ours and job in self._running:
                self._abandon(job)

    def abandon(self, work: WorkId) -> None:
        for job in self._of(work):
            self._abandon(job)

    def _of(self, work: WorkId) -> list[RunningJob]:
        return [job for job in self._running if job.details.id == work]

    def _abandon(self, job: RunningJob) -> None:
        if not job.lost:
            log.info("run.abandoned", **id_field(job.details.id), attempt=job.details.attempt)
            job.abandon()

    def give_back(self, chosen: Callable[[WorkDetails], bool]) -> None:
        """Returns these jobs to the queue, also those that start from now on."""
        self._gives_back = chosen
        for job in self._running:
            if chosen(job.details):
                job.give_back()

    def abandon_all(self) -> None:
        """Abandons all jobs that this worker has leases for."""
        for job in self._running:
            if job.is_started:
                self._abandon(job)


class Heartbeat:
    """Renews this worker's row, and registers again if the watchdog declared it dead."""

    def __init__(self, pool: Pool, slots: int, versions: Mapping[str, str]) -> None:
        """`versions` maps languages to the versions that this worker has; it may change."""
        self._pool = pool
        self._slots = slots
        self._versions = versions
        self._reported: dict[str, str] = {}
        self.running_jobs = RunningJobs(pool, WorkerId(new_id(WORKER)))
        self._registered = False

    async def beat(self, consumer: Consumers) -> None:
        if not self._registered:
            await self._register(paused=consumer.is_paused)
        elif self._reported != self._versions:
            await self._report_versions()
        async with connection(self._pool) as acquired:
            order = await workers.heartbeat(
                acquired,
                self.running_jobs.worker,
                busy=consumer.busy,
                cycle_s=consumer.cycle_s,
                ending=consumer.is_draining,
                stage_counts=self.running_jobs.counts.take_news(),
            )
        self._obey(order, consumer)
        await self.running_jobs.beat()

    def _obey(self, order: WorkerOrder, consumer: Consumers) -> None:
        """A drained worker idles: if it ended, its supervisor would start it again."""
        if order is WorkerOrder.GONE:
            log.warning("worker.taken_for_dead", worker=self.running_jobs.worker)
            self.running_jobs.abandon_all()
            self.running_jobs.worker = WorkerId(new_id(WORKER))
            self._registered = False
        elif order is WorkerOrder.DRAIN and not (consumer.is_paused or consumer.is_draining):
            log.info("worker.paused", worker=self.running_jobs.worker)
            consumer.pause()
        elif order is WorkerOrder.WORK and consumer.is_paused:
            log.info("worker.resumed", worker=self.running_jobs.worker)
            consumer.resume()

    async def _register(self, *, paused: bool) -> None:
        """Also marks dead workers of this machine as gone: their jobs are rescued at once."""
        host, own, versions = host_name(), process_name() or "", dict(self._versions)
        async with connection(self._pool) as acquired:
            others = await workers.list_on_host(acquired, host)
            dead = [worker for worker, process in others.items() if is_dead(process, own)]
            await workers.mark_gone(acquired, dead)
            await workers.register(
                acquired,
                self.running_jobs.worker,
                host=host,
                process=own,
                slots=self._slots,
                versions=versions,
            )
            if paused:
                # The admin's drain request applied to this worker under its former id.
                await workers.drain(acquired, self.running_jobs.worker)
        self._registered, self._reported = True, versions

    async def _report_versions(self) -> None:
        versions = dict(self._versions)
        async with connection(self._pool) as acquired:
            await workers.update_languages(acquired, self.running_jobs.worker, versions)
        self._reported = versions

    async def drain(self) -> None:
        async with connection(self._pool) as acquired:
            await workers.drain(acquired, self.running_jobs.worker)

    async def leave(self) -> None:
        async with connection(self._pool) as acquired:
            await workers.mark_gone(acquired, [self.running_jobs.worker])


async def keep_beating(heartbeat: Heartbeat, consumer: Consumers) -> None:
    while True:
        try:
            await heartbeat.beat(consumer)
        except Unavailable as fault:
            log.warning("worker.heartbeat_failed", error=str(fault))
        except Exception:  # no fault of a store or its driver may end a worker
            log.exception("worker.heartbeat_crashed")
        await asyncio.sleep(BEAT_S)


async def watch_cancellations(listener: Listener, running_jobs: RunningJobs) -> None:
    """Only speeds cancelling up: the next heartbeat finds cancelled jobs, too."""
    while True:
        for work in await listener.wait(60):
            running_jobs.abandon(work_id(work))


def host_name() -> str:
    """Includes the pid namespace: containers of one machine may share its host name."""
    pid_namespace = Path("/proc/self/ns/pid").stat().st_ino
    return f"{socket.gethostname()}/{pid_namespace}"


def process_name(pid: int | None = None) -> str | None:
    """Returns a name that no other process ever has, or None if the pid is not in use."""
    pid = pid or os.getpid()
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        boot = BOOT_ID.read_text().strip()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    state, started = fields[0], fields[19]
    return None if state in "ZX" else f"{boot}:{pid}:{started}"


def is_dead(process: WorkerProcess, own: str) -> bool:
    """Tells it of a worker with this host name; `own` is the name of this process.

    A process of another boot ran before this machine started, or runs on another machine with
    the same host name: only its heartbeats tell which.
    """
    if is_of_same_boot(process.name, own):
        return not is_alive(process.name)
    return process.is_silent


def is_of_same_boot(name: str, other: str) -> bool:
    boot = name.partition(":")[0]
    return bool(boot) and boot == other.partition(":")[0]


def is_alive(name: str) -> bool:
    """The name must be that of a process of this host since its last boot."""
    number = name.split(":")[1]
    return process_name(int(number)) == name
