"""Gives jobs to judge hosts: picks one, registers a judge id, sends the task (M2, M3)."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import structlog

from deemster.cache.ttl import TtlCache
from deemster.domain.errors import LostRace, Unavailable
from deemster.domain.ids import WorkId, new_id
from deemster.domain.job import Job
from deemster.domain.job_events import events_of
from deemster.domain.judge_host import JUDGE, TASKS_AHEAD, JudgeHostId, JudgeId, JudgeOn
from deemster.domain.work import WorkDetails
from deemster.pipeline.queue.fetcher import DeliveredJob, Done, RetryLater
from deemster.pipeline.queue.slots import GivenBack
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
WAIT_S: Final = 1.0
"""Longest wait of a job for a host; after that it goes back to its queue."""
MAX_HELD_SLOTS: Final = 4
"""Most slots in which a job waits for longer than that, each for other hosts."""
SHORTEST_PAUSE_S: Final = 1.0
"""Shortest time for which a job lets others pass. Then it waits, unless one before it does."""
RETURNS_PER_S: Final = 100
"""Most jobs that need the same and come back from such a pause in a second."""
FULL_S: Final = 0.5
AVOIDED_S: Final = 5.0
"""A host that could not be reached gets no task for this time."""


Started = tuple[RemoteTask, HostRoom]


class Needed(NamedTuple):
    """What a job needs of a host: the language, and slots for this kind of work."""

    language: str
    kind: str


Place = tuple[int, WorkId]
"""The place of a job in its queue: by its priority, then by its age."""
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
    _full: dict[Needed, float] = field(default_factory=dict)
    """What no host had room for at the last look, with the time until which this counts."""
    _waiting: dict[Needed, list[Place]] = field(default_factory=lambda: defaultdict(list))
    """The jobs that wait for a host in a slot."""
    _pauses: TtlCache[float] = field(
        default_factory=lambda: TtlCache(keep_s=WAIT_S, max_entries=100)
    )
    """For how many seconds jobs let others pass, by what they need."""

    async def handle(self, delivered: DeliveredJob) -> Done | RetryLater:
        job = delivered.job
        structlog.contextvars.bind_contextvars(jobId=job.job_id)
        try:
            return await self._transmit(job)
        except Full:
            return RetryLater(FULL_S)
        except GivenBack:
            raise  # the queue keeps the job
        except LostRace as lost:
            log.info("job.dropped", **id_field(job.work), reason=str(lost))
        except Unavailable as fault:
            log.warning("job.put_off", **id_field(job.work), error=str(fault))
            return RetryLater(FULL_S)
        return Done()

    async def _transmit(self, job: Job) -> Done | RetryLater:
        details = await self._find_startable(job)
        if not can_be_remote(details):
            await self.send_to_workers(job)
            return Done()
        begun = await self._begin_once(job, details)
        if begun is None and not await self._is_for_workers(details):
            waited = await self._wait_for_host(job, details)
            if isinstance(waited, RetryLater):
                return waited
            begun = waited
        if begun is None:
            await self.send_to_workers(job)
            return Done()
        task, room = begun
        self.on_start()
        await self._send(task, room)
        return Done()

    async def _find_startable(self, job: Job) -> WorkDetails:
        async with connection(self.pool) as acquired:
            return await find_startable(
                acquired,
                job.work,
                task=job.task,
                read=lambda acquired, work: read_details(acquired, job.task, work),
                languages=None,
            )

    async def _wait_for_host(
        self, job: Job, details: WorkDetails
    ) -> Started | RetryLater | None:
        """None: a local worker runs the job. Raises GivenBack if it goes back to its place.

        Of the jobs that need the same, the first one waits for as long as it takes, so that a
        host that gets room has a job at once, and the right one. The others go back to the
        queue after a while, and so does the first one if too few slots would be left.
        """
        needed, place = needed_for(details), place_of(job)
        waiting = self._waiting[needed]
        if waiting and min(waiting) < place and (pause_s := await self._pause_s(needed)):
            return RetryLater(pause_s)
        waiting.append(place)
        try:
            while True:
                give_up_at = time.monotonic() + WAIT_S
                while (left_s := give_up_at - time.monotonic()) > 0:
                    await self.wait_for_room(min(left_s, LOOK_S))
                    self._full.clear()
                    found = await self._begin_once(job, details)
                    if found is not None:
                        return found
                    if await self._is_for_workers(details):
                        return None
                held = sum(map(bool, self._waiting.values()))
                if min(waiting) != place or held > MAX_HELD_SLOTS:
                    return await self._go_back(job, details)
                details = await self._find_startable(job)  # raises LostRace if it was cancelled
        finally:
            waiting.remove(place)

    async def _go_back(self, job: Job, details: WorkDetails) -> RetryLater:
        """Gives the slot away.

        Mostly, all jobs behind this one need the same hosts. Then the job gets its place back.
        But if a host has room for other work that waits, jobs that get their place back would
        be delivered first again, and block it. So they are delayed meanwhile.
        """
        pause_s = await self._pause_s(needed_for(details))
        if not pause_s:
            raise GivenBack(f"No host has room for {job.work}.")
        return RetryLater(pause_s)

    async def _pause_s(self, needed: Needed) -> float:
        """For how long jobs let others pass, for which a host has room; 0: there are none.

        Looks once for all jobs that need the same: the statement reads all that waits.
        """
        key = " ".join(needed)
        if (known := self._pauses.get(key)) is not None:
            return known
        async with connection(self.pool) as acquired:
            blocking = await remote_tasks.count_blocking(
                acquired,
                needed.language,
                executes=needed.kind == "execution",
                excluded=self._unreachable(),
                ahead=self._tasks_ahead,
            )
        pause_s = 0.0 if blocking is None else max(SHORTEST_PAUSE_S, blocking / RETURNS_PER_S)
        self._pauses.put(key, pause_s)
        return pause_s

    async def _begin_once(self, job: Job, details: WorkDetails) -> Started | None:
        """Does not look again for a job that needs the same as one before it that waits."""
        needed, place = needed_for(details), place_of(job)
        async with self._picking:
            if time.monotonic() < self._full.get(needed, 0.0):
                return None
            if any(other < place for other in self._waiting[needed]):
                return None
            found = await self._begin(job, details)
            if found is None:
                self._full[needed] = time.monotonic() + LOOK_S
            return found

    async def _begin(self, job: Job, details: WorkDetails) -> Started | None:
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
        return 0 if details.task.kind == "execution" else self._tasks_ahead

    @property
    def _tasks_ahead(self) -> int:
        return TASKS_AHEAD if self.judge_on is JudgeOn.HOSTS else 0

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


def needed_for(details: WorkDetails) -> Needed:
    return Needed(details.language, details.task.kind)


def place_of(job: Job) -> Place:
    return job.priority, job.work
