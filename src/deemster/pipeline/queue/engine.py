"""BullMQ's operations with types, bounded in time, and with our errors, on either store."""

import asyncio
import math
import time
from collections.abc import Awaitable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from bullmq import Job

from deemster.domain.job import QueueName
from deemster.domain.queue_depth import JobState, QueueDepth
from deemster.pipeline.queue.errors import LostLock, QueueDown
from deemster.pipeline.queue.topology import (
    BATCH,
    KEEP_COMPLETED,
    KEEP_FAILED,
    NEVER_GIVE_UP,
    Keep,
)
from deemster.pipeline.queue.wakeup import WakeSignal

T = TypeVar("T")

KINDS: Final = {JobState.WAITING: ("wait", "paused", "prioritized")}
"""BullMQ's own states, in the order in which they are taken; others are called as ours."""
LISTS: Final = {"wait", "paused", "active"}
"""In these BullMQ counts from the newest on, whichever end is asked for."""

ANSWER_S: Final = 6.0
"""A little more than the stores' own limits, whose errors say more."""


class QueueStore(Protocol):
    """What a store does beyond BullMQ's own contract."""

    @property
    def shown(self) -> str: ...
    @property
    def faults(self) -> tuple[type[Exception], ...]: ...
    @property
    def counts_at_every_end(self) -> bool:
        """Whether finished jobs are trimmed by count at once; otherwise `trim` does it."""

    async def ready(self) -> None: ...
    def backend(self, queue: QueueName) -> Any: ...
    async def ping(self) -> None: ...
    async def present(self, queue: QueueName, ids: Sequence[str]) -> set[str]: ...
    async def listen(self, queues: Collection[QueueName], bell: WakeSignal) -> None: ...
    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class NewJob:
    id: str
    name: str
    priority: int
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class LockedJob:
    """A job that is ours while its lock lasts."""

    queue: QueueName
    id: str
    token: str
    data: str
    priority: int


@dataclass(frozen=True, slots=True)
class NoJob:
    """No job now. If nobody calls, another look is worth it after this time."""

    after_s: float
    limited: bool = False
    """By the rate, so there may be jobs."""


@dataclass(frozen=True, slots=True)
class QueueHandle:
    """What BullMQ's Job wants to know of its queue."""

    name: str
    backend: Any
    opts: dict[str, Any]

    @property
    def qualifiedName(self) -> str:  # noqa: N802 - BullMQ reads it by this name
        return str(self.backend.qualifiedName)


class Engine:
    def __init__(self, store: QueueStore) -> None:
        self._store = store

    async def add(self, queue: QueueName, jobs: Sequence[NewJob]) -> None:
        """In their order. A known id changes nothing (Q1)."""
        backend = await self._backend(queue)
        owner = QueueHandle(queue, backend, {})
        for start in range(0, len(jobs), BATCH):
            batch = [
                Job(owner, job.name, job.data, self._options(job))
                for job in jobs[start : start + BATCH]
            ]
            adding = backend.addJob(batch[0]) if len(batch) == 1 else backend.addJobs(batch)
            await self._answer(adding)

    def _options(self, job: NewJob) -> dict[str, Any]:
        return {
            "jobId": job.id,
            "priority": job.priority,
            "attempts": 1,
            "removeOnComplete": self._kept(KEEP_COMPLETED),
            "removeOnFail": self._kept(KEEP_FAILED),
        }

    def _kept(self, keep: Keep) -> dict[str, int]:
        by_count = {"count": keep.count} if self._store.counts_at_every_end else {}
        return {"age": keep.age_s} | by_count

    async def take(
        self, queue: QueueName, token: str, lease_s: float, rate_per_s: float | None
    ) -> LockedJob | NoJob:
        backend = await self._backend(queue)
        options = {"lockDuration": in_ms(lease_s), "limiter": limiter(rate_per_s)}
        answer = await self._answer(backend.moveToActive(token, options))
        fields, job_id, limited_ms, due_at_ms = answer
        if fields:
            return LockedJob(
                queue, str(job_id), token, str(fields.get("data", "")), rank(fields)
            )
        if limited_ms:
            return NoJob(after_s=float(limited_ms) / 1000, limited=True)
        if due_at_ms:
            return NoJob(after_s=max(float(due_at_ms) / 1000 - time.time(), 0.001))
        return NoJob(after_s=math.inf)

    async def complete(self, taken: LockedJob) -> None:
        backend, job = await self._backend(taken.queue), self._job(taken)
        keep = self._kept(KEEP_COMPLETED)
        await self._ours(backend.moveToCompleted(job, None, keep, taken.token, False))

    async def fail(self, taken: LockedJob, reason: str) -> None:
        """For good; a retry is another job. The reason is all that is written."""
        backend, job = await self._backend(taken.queue), self._job(taken)
        keep = self._kept(KEEP_FAILED)
        await self._ours(backend.moveToFailed(job, reason, keep, taken.token, False))

    async def delay(self, taken: LockedJob, delay_s: float) -> None:
        backend = await self._backend(taken.queue)
        now_ms, delay_ms = in_ms(time.time()), max(in_ms(delay_s), 1)
        no_attempt = {"skipAttempt": True}
        await self._ours(
            backend.moveToDelayed(taken.id, now_ms, delay_ms, taken.token, no_attempt)
        )

    async def give_back(self, taken: LockedJob) -> None:
        backend = await self._backend(taken.queue)
        await self._ours(backend.retryJob(taken.id, False, taken.token, {}))

    async def renew(
        self, queue: QueueName, held: Sequence[LockedJob], lease_s: float
    ) -> set[str]:
        """The tokens of those whose lock is lost."""
        backend = await self._backend(queue)
        ids, tokens = [taken.id for taken in held], [taken.token for taken in held]
        lost = set(await self._answer(backend.extendLocks(ids, tokens, in_ms(lease_s))))
        return {taken.token for taken in held if taken.id in lost}

    async def rescue(self, queue: QueueName, every_s: float) -> list[str]:
        """Jobs whose lock ran out wait again; done once in that time, whoever calls."""
        backend = await self._backend(queue)
        # A little less, or a caller with the same period would miss every other turn.
        every_ms = in_ms(every_s * 0.8)
        return list(await self._answer(backend.moveStalledJobsToWait(NEVER_GIVE_UP, every_ms)))

    async def depth(self, queue: QueueName) -> QueueDepth:
        backend = await self._backend(queue)
        states = ["wait", "paused", "prioritized", "active", "delayed", "failed"]
        counts = await self._answer(backend.getCounts(states))
        wait, paused, prioritized, active, delayed, failed = map(int, counts)
        return QueueDepth(wait + paused + prioritized, active, delayed, failed)

    async def job_ids(
        self, queue: QueueName, state: JobState, *, start: int, most: int
    ) -> list[str]:
        """From a place on, the one that is next or was first before the others."""
        backend = await self._backend(queue)
        found: list[str] = []
        for kind in KINDS.get(state, (state.value,)):
            (size,) = await self._answer(backend.getCounts([kind]))
            last = min(start + most - len(found), int(size)) - 1
            if start <= last:
                found += await self._answer(ranged(backend, kind, start, last, int(size)))
            start = max(start - int(size), 0)
        return found[:most]

    async def present(self, queue: QueueName, ids: Sequence[str]) -> set[str]:
        """Those that are waiting, delayed or active."""
        await self._backend(queue)
        return await self._answer(self._store.present(queue, ids))

    async def remove(self, queue: QueueName, job_id: str) -> bool:
        """True when the queue holds it no more; False when somebody is at it."""
        backend = await self._backend(queue)
        if await self._answer(backend.remove(job_id, False)):
            return True
        return not await self.present(queue, [job_id])

    async def trim(self, queue: QueueName) -> None:
        backend = await self._backend(queue)
        for state, keep in (("completed", KEEP_COMPLETED), ("failed", KEEP_FAILED)):
            await self._answer(backend.cleanJobsInSet(state, keep.age_s * 1000, 0))
            (count,) = await self._answer(backend.getCounts([state]))
            if int(count) > keep.count:
                await self._answer(backend.cleanJobsInSet(state, 0, int(count) - keep.count))

    async def ping(self) -> None:
        await self._answer(self._store.ping())

    async def listen(self, queues: Collection[QueueName], bell: WakeSignal) -> None:
        """Rings when there may be work; raises QueueDown when it can't hear any more."""
        with self._translated():
            await self._store.listen(queues, bell)

    async def close(self) -> None:
        await self._store.close()

    async def _backend(self, queue: QueueName) -> Any:
        with self._translated():
            await self._store.ready()
        return self._store.backend(queue)

    def _job(self, taken: LockedJob) -> Any:
        owner = QueueHandle(taken.queue, self._store.backend(taken.queue), {"lockDuration": 0})
        return Job(owner, taken.queue, {}, {"attempts": 1}, taken.id)

    async def _ours(self, operation: Awaitable[T]) -> T:
        try:
            return await self._answer(operation)
        except TypeError as fault:  # BullMQ's word for all that is wrong with a lock
            raise LostLock(f"The job is no longer held: {fault}") from fault

    async def _answer(self, operation: Awaitable[T]) -> T:
        with self._translated():
            async with asyncio.timeout(ANSWER_S):
                return await operation

    @contextmanager
    def _translated(self) -> Iterator[None]:
        # The last two: what drivers stumble over when a connection ends at a bad moment.
        driver: tuple[type[Exception], ...] = (OSError, RuntimeError, AttributeError)
        try:
            yield
        except self._store.faults + driver as fault:
            what = (str(fault).splitlines() or [""])[0] or "no answer in time"
            raise QueueDown(
                f"The queue store {self._store.shown} can't be used now "
                f"({type(fault).__name__}: {what}). Work waits in the database; see that "
                "the store runs and can be reached from here."
            ) from fault


def rank(fields: dict[str, Any]) -> int:
    written = str(fields.get("priority", ""))
    return int(written) if written.isdecimal() else 0


async def ranged(backend: Any, kind: str, start: int, last: int, size: int) -> list[str]:
    if kind not in LISTS:
        return list(await backend.getRanges([kind], start, last, True))
    newest_first = await backend.getRanges([kind], size - 1 - last, size - 1 - start, False)
    return list(reversed(newest_first))


def in_ms(seconds: float) -> int:
    return round(seconds * 1000)


def limiter(rate_per_s: float | None) -> dict[str, int] | None:
    """BullMQ counts whole jobs in a window: at least one job, and at least a second."""
    if rate_per_s is None:
        return None
    window_s = max(1.0, 1 / rate_per_s)
    return {"max": max(int(rate_per_s * window_s), 1), "duration": in_ms(window_s)}
