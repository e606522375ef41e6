"""Keeps a worker's row and its leases alive, and passes on what admins and users ask of it."""

import asyncio
from collections.abc import Mapping
from typing import Final

import structlog

from deemster.domain.errors import Unavailable
from deemster.domain.ids import WORKER, SubmissionId, WorkerId, new_id
from deemster.pipeline.judge.build.compiler import BuildTools
from deemster.pipeline.queue.consumer import Consumer
from deemster.pipeline.work.process_identity import host_name, is_alive, process_name
from deemster.pipeline.work.running import RunningJobs
from deemster.store import workers
from deemster.store.notifications import Listener
from deemster.store.pool import Pool, connection
from deemster.store.workers import WorkerOrder

log = structlog.get_logger()

BEAT_S: Final = 1.0
LOOK_S: Final = 60.0
"""Pause between two checks whether all toolchains are still the same."""


class Heartbeat:
    """This worker's row: renewed by beats, made anew if it was taken for dead."""

    def __init__(self, pool: Pool, slots: int, versions: Mapping[str, str]) -> None:
        """`versions` are those of the languages that work here; they may change meanwhile."""
        self._pool = pool
        self._slots = slots
        self._versions = versions
        self._told: dict[str, str] = {}
        self.runs = RunningJobs(pool, WorkerId(new_id(WORKER)))
        self._known = False

    async def beat(self, consumer: Consumer) -> None:
        if not self._known:
            await self._register(held=consumer.is_held)
        elif self._told != self._versions:
            await self._tell()
        async with connection(self._pool) as acquired:
            heard = await workers.beat(
                acquired,
                self.runs.worker,
                busy=consumer.busy,
                cycle_s=consumer.cycle_s,
                ending=consumer.is_draining,
            )
        self._obey(heard, consumer)
        await self.runs.beat()

    def _obey(self, heard: WorkerOrder, consumer: Consumer) -> None:
        """Drained by an admin it stays, idle: whoever watches over it would start it anew."""
        if heard is WorkerOrder.GONE:
            log.warning("worker.taken_for_dead", worker=self.runs.worker)
            self.runs.abandon_all()
            self.runs.worker = WorkerId(new_id(WORKER))
            self._known = False
        elif heard is WorkerOrder.DRAIN and not (consumer.is_held or consumer.is_draining):
            log.info("worker.held", worker=self.runs.worker)
            consumer.hold()
        elif heard is WorkerOrder.WORK and consumer.is_held:
            log.info("worker.resumed", worker=self.runs.worker)
            consumer.go()

    async def _register(self, *, held: bool) -> None:
        """Also says which workers of this machine are dead: their runs are rescued at once."""
        host, told = host_name(), dict(self._versions)
        async with connection(self._pool) as acquired:
            others = await workers.of_host(acquired, host)
            dead = [worker for worker, process in others.items() if not is_alive(process)]
            await workers.leave(acquired, dead)
            await workers.register(
                acquired,
                self.runs.worker,
                host=host,
                process=process_name() or "",
                slots=self._slots,
                versions=told,
            )
            if held:
                # What an admin said of the worker that it was holds for it still.
                await workers.drain(acquired, self.runs.worker)
        self._known, self._told = True, told

    async def _tell(self) -> None:
        told = dict(self._versions)
        async with connection(self._pool) as acquired:
            await workers.tell(acquired, self.runs.worker, told)
        self._told = told

    async def drain(self) -> None:
        async with connection(self._pool) as acquired:
            await workers.drain(acquired, self.runs.worker)

    async def leave(self) -> None:
        async with connection(self._pool) as acquired:
            await workers.leave(acquired, [self.runs.worker])


async def keep_beating(heartbeat: Heartbeat, consumer: Consumer) -> None:
    while True:
        try:
            await heartbeat.beat(consumer)
        except Unavailable as fault:
            log.warning("worker.not_heard", error=str(fault))
        except Exception:  # no fault of a store or its driver may end a worker
            log.exception("worker.heartbeat_crashed")
        await asyncio.sleep(BEAT_S)


async def heed_cancellations(listener: Listener, runs: RunningJobs) -> None:
    """A hint: the next beat finds out as well."""
    while True:
        for word in await listener.wait(60):
            runs.abandon(SubmissionId(word))


async def refresh_toolchains(builder: BuildTools) -> None:
    """Jobs look for their own language; this is for those that nobody asks for."""
    while True:
        await asyncio.sleep(LOOK_S)
        await builder.toolchains.look_after(builder.catalogue)
