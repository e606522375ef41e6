"""Gives jobs to judge hosts: picks one, registers a judge id, sends the task (M2, M3)."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import structlog

from deemster.domain.errors import LostRace, Unavailable
from deemster.domain.ids import new_id
from deemster.domain.job import Job
from deemster.domain.job_events import events_of
from deemster.domain.judge_host import JUDGE, TASKS_AHEAD, JudgeHostId, JudgeId, JudgeOn
from deemster.domain.work import WorkDetails
from deemster.pipeline.queue.fetcher import DeliveredJob, Done, RetryLater
from deemster.pipeline.remote.messages import HostTask
from deemster.pipeline.remote.tasks import (
    TaskBuilder,
    can_be_remote,
    read_details,
    revision_of,
)
from deemster.pipeline.verdict.attempt import Caps, Full, find_startable, start_found
from deemster.pipeline.verdict.retry import requeue
from deemster.pipeline.work.job_metrics import count_start
from deemster.store import remote_tasks
from deemster.store.lifecycle import NewLease
from deemster.store.pool import Pool, connection, transaction
from deemster.store.remote_tasks import HostRoom, RemoteTask
from deemster.telemetry import id_field

log = structlog.get_logger()

LOOK_S: Final = 0.2
"""Longest pause between two looks for a free slot; a notice ends it earlier."""
FULL_S: Final = 0.5
AVOIDED_S: Final = 5.0
"""A host that could not be reached gets no task for this time."""


Push = Callable[[HostRoom, HostTask], Awaitable[None]]
"""Sends a task to the address of a host; raises Unavailable if the host does not take it."""


@dataclass(slots=True)
class Transmitter:
    pool: Pool
    send_to_workers: Callable[[Job], Awaitable[None]]
    """Puts a job into the queue of local workers."""
    builder: TaskBuilder
    push: Push
    judge_on: JudgeOn
    lease_s: float
    caps: Mapping[str, Caps]
    """Concurrency caps, by kind of work."""
    on_start: Callable[[], None] = lambda: None
    starting_pool: Pool | None = None
    """For starts, whose commits need not wait for the disk: what a crash of the database undoes
    is sent again, with another judge id."""
    wait_for_room: Callable[[float], Awaitable[object]] = asyncio.sleep
    """Returns when a host may have a free slot, or after so many seconds."""
    _avoided: dict[JudgeHostId, float] = field(default_factory=dict)
    _picking: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One job at a time picks a host, so that two do not take the same slot."""
    _full: set[tuple[str, str]] = field(default_factory=set)
    """Languages and kinds of work for which no host had room at the last look."""

    async def handle(self, delivered: DeliveredJob) -> Done | RetryLater:
        job = delivered.job
        structlog.contextvars.bind_contextvars(jobId=job.job_id)
        try:
            return await self._transmit(job)
        except Full:
            return RetryLater(FULL_S)
        except LostRace as lost:
            log.info("job.dropped", **id_field(job.work), reason=str(lost))
        except Unavailable as fault:
            log.warning("job.put_off", **id_field(job.work), error=str(fault))
            return RetryLater(FULL_S)
        return Done()

    async def _transmit(self, job: Job) -> Done | RetryLater:
        async with connection(self.pool) as acquired:
            details = await find_startable(
                acquired,
                job.work,
                task=job.task,
                read=lambda acquired, work: read_details(acquired, job.task, work),
                languages=None,
            )
        if not can_be_remote(details):
            await self.send_to_workers(job)
            return Done()
        while (found := await self._begin_once(job, details)) is None:
            if await self._is_for_workers(details):
                await self.send_to_workers(job)
                return Done()
            await self.wait_for_room(LOOK_S)
            self._full.clear()
        task, room = found
        self.on_start()
        await self._send(task, room)
        return Done()

    async def _begin_once(
        self, job: Job, details: WorkDetails
    ) -> tuple[RemoteTask, HostRoom] | None:
        """Does not look again for a job that needs the same as another one that waits."""
        needed = details.language, details.task.kind
        async with self._picking:
            if needed in self._full:
                return None
            found = await self._begin(job, details)
            if found is None:
                self._full.add(needed)
            return found

    async def _begin(
        self, job: Job, details: WorkDetails
    ) -> tuple[RemoteTask, HostRoom] | None:
        """Starts the attempt on a host with a free slot; None: there is no such host."""
        async with connection(self.starting_pool or self.pool) as acquired:
            room = await remote_tasks.find_host(
                acquired,
                job.work,
                details.language,
                executes=details.task.kind == "execution",
                revision=revision_of(details),
                excluded=self._unreachable(),
                ahead=self._ahead(details),
            )
            if room is None:
                return None
            lease = NewLease(room.worker, self.lease_s)
            caps = self.caps.get(job.task.kind, Caps())
            started = await start_found(acquired, details, lease, caps=caps)
            task = await remote_tasks.register(
                acquired, JudgeId(new_id(JUDGE)), job.work, started.attempt, job.task, room
            )
        count_start(started)
        return task, room

    def _ahead(self, details: WorkDetails) -> int:
        """Executions never wait for a slot of a host, and no job does if a local worker could
        have a free slot."""
        is_patient = self.judge_on is JudgeOn.HOSTS and details.task.kind != "execution"
        return TASKS_AHEAD if is_patient else 0

    def _unreachable(self) -> list[JudgeHostId]:
        now = time.monotonic()
        self._avoided = {host: until for host, until in self._avoided.items() if until > now}
        return list(self._avoided)

    async def _is_for_workers(self, details: WorkDetails) -> bool:
        """Whether a local worker runs the job, because no host can do it now."""
        if self.judge_on is not JudgeOn.HOSTS_FIRST:
            return False
        async with connection(self.pool) as acquired:
            room = await remote_tasks.room_for(acquired, details.language)
        return room.free_local_slots > 0 or (room.hosts == 0 and room.local_workers > 0)

    async def _send(self, task: RemoteTask, room: HostRoom) -> None:
        """A host without an address fetches the task."""
        log.info(
            "task.dispatched",
            **id_field(task.work),
            judgeId=task.judge_id,
            hostId=task.host,
            attempt=task.attempt,
        )
        try:
            await self.deliver(task, room)
        except LostRace:
            await self._forget(task)
        except Unavailable as fault:
            log.warning(
                "task.not_sent", **id_field(task.work), hostId=task.host, error=str(fault)
            )
            self._avoided[room.host] = time.monotonic() + AVOIDED_S
            await self._return(task, f"host {room.host} could not be reached")

    async def deliver(self, task: RemoteTask, room: HostRoom) -> None:
        """Raises Unavailable if the host does not take the task."""
        if room.address is None:
            return
        async with connection(self.pool) as acquired:
            message = await self.builder.build(acquired, task, room.speed)
        await self.push(room, message)
        async with connection(self.pool) as acquired:
            await remote_tasks.mark_sent(acquired, task.judge_id)

    async def _forget(self, task: RemoteTask) -> None:
        async with connection(self.pool) as acquired:
            await remote_tasks.remove(acquired, task.judge_id)

    async def _return(self, task: RemoteTask, reason: str) -> None:
        """Removes the judge id, and lets the queue retry on another host (M2)."""
        try:
            async with transaction(self.pool) as writing:
                await remote_tasks.remove(writing, task.judge_id)
                await requeue(
                    writing,
                    events_of(task.task).rescue,
                    task.work,
                    task.task,
                    task.attempt,
                    reason=reason,
                )
        except LostRace:
            await self._forget(task)
