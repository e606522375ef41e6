"""Keeps the worker's row and leases alive, and obeys drain, resume and cancel requests."""

import asyncio
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import structlog

from deemster.domain.errors import Unavailable
from deemster.domain.ids import WORKER, SubmissionId, WorkerId, new_id
from deemster.pipeline.judge.build.compiler import BuildTools
from deemster.pipeline.queue.consumer import Consumer
from deemster.pipeline.work.running_jobs import RunningJobs
from deemster.store import workers
from deemster.store.notifications import Listener
from deemster.store.pool import Pool, connection
from deemster.store.workers import WorkerOrder

log = structlog.get_logger()

BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
BEAT_S: Final = 1.0
TOOLCHAIN_CHECK_S: Final = 60.0
"""Pause between two checks whether all toolchains are still the same."""


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

    async def beat(self, consumer: Consumer) -> None:
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
            )
        self._obey(order, consumer)
        await self.running_jobs.beat()

    def _obey(self, order: WorkerOrder, consumer: Consumer) -> None:
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
        """Also removes dead workers of this machine, so that their jobs are rescued at once."""
        host, versions = host_name(), dict(self._versions)
        async with connection(self._pool) as acquired:
            others = await workers.list_on_host(acquired, host)
            dead = [worker for worker, process in others.items() if not is_alive(process)]
            await workers.mark_gone(acquired, dead)
            await workers.register(
                acquired,
                self.running_jobs.worker,
                host=host,
                process=process_name() or "",
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


async def keep_beating(heartbeat: Heartbeat, consumer: Consumer) -> None:
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
        for submission in await listener.wait(60):
            running_jobs.abandon(SubmissionId(submission))


async def refresh_toolchains(build_tools: BuildTools) -> None:
    """Each job checks its own toolchain; this finds changes of all the others."""
    while True:
        await asyncio.sleep(TOOLCHAIN_CHECK_S)
        await build_tools.toolchains.refresh(build_tools.catalogue)


def host_name() -> str:
    """Includes the pid namespace: containers of one machine may share its host name."""
    pid_namespace = Path("/proc/self/ns/pid").stat().st_ino
    return f"{socket.gethostname()}/{pid_namespace}"


def process_name(pid: int | None = None) -> str | None:
    """Returns a name that no other process ever has, or None if the pid is not in use."""
    pid = pid or os.getpid()
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = BOOT_ID.read_text().strip()
    except OSError:
        return None
    state, started = fields[0], fields[19]
    return None if state in "ZX" else f"{boot}:{pid}:{started}"


def is_alive(name: str) -> bool:
    """The name must be that of a process of this host."""
    number = name.split(":")[1]
    return process_name(int(number)) == name
