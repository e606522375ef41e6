"""BullMQ's operations, typed, bounded in time and with Deemster's errors, on either store."""

import asyncio
import math
import time
from collections.abc import Awaitable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Protocol, TypeVar

from bullmq import Job

from deemster.domain.errors import LostRace, Unavailable
from deemster.domain.job import QueueName
from deemster.domain.queue_depth import JobState, QueueDepth
from deemster.pipeline.queue.topology import (
    BATCH,
    KEEP_COMPLETED,
    KEEP_FAILED,
    NEVER_GIVE_UP,
    Keep,
)


class WakeSignal:
    def __init__(self) -> None:
        self._set = asyncio.Event()
        self.wanted = asyncio.Event()
        """Set while somebody waits: Redis wakes one consumer only, and it must be idle."""

    def wake(self) -> None:
        self.wanted.clear()
        self._set.set()

    def clear(self) -> None:
        """Must be called before looking for work, so that a wake-up during the look is kept."""
        self._set.clear()

    async def wait(self, timeout_s: float) -> None:
        self.wanted.set()
        try:
            async with asyncio.timeout(timeout_s):
                await self._set.wait()
        except TimeoutError:
            pass
        finally:
            self.wanted.clear()


class QueueDown(Unavailable):
    """The store does not answer. Nothing is lost: jobs wait in the database."""

    code: ClassVar[str] = "queue_down"


class LostLock(LostRace):
    """Another worker has the job, or the store was wiped."""

    code: ClassVar[str] = "lost_lock"


T = TypeVar("T")

KINDS: Final = {JobState.WAITING: ("wait", "paused", "prioritized")}
"""BullMQ's states that make up one of ours; the others have the same name."""
LISTS: Final = {"wait", "paused", "active"}
"""BullMQ lists these newest first, whatever order is asked for."""

ANSWER_S: Final = 6.0
"""Slightly longer than the stores' own time limits, whose errors say more."""


class QueueStore(Protocol):
    """What a store must offer beyond BullMQ's own backend."""

    @property
    def shown(self) -> str: ...
    @property
    def faults(self) -> tuple[type[Exception], ...]: ...
    @property
    def trims_by_count(self) -> bool:
        """Whether each finished job trims the others by count; otherwise `trim` does it."""

    @property
    def smallest_bulk(self) -> int:
        """From how many jobs on it is cheaper to add them by one call."""

    async def ready(self) -> None: ...
    def backend(self, queue: QueueName) -> Any: ...
    async def ping(self) -> None: ...
    async def present(self, queue: QueueName, ids: Sequence[str]) -> set[str]: ...
    async def return_job(self, locked: "LockedJob") -> None:
        """Raises TypeError if the lock is lost, as BullMQ does."""

    async def listen(self, queues: Collection[QueueName], wake_signal: WakeSignal) -> None: ...
    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class NewJob:
    id: str
    name: str
    priority: int
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class LockedJob:
    """A job that belongs to this consumer while its lock lasts."""

    queue: QueueName
    id: str
    token: str
    data: str
    priority: int


@dataclass(frozen=True, slots=True)
class NoJob:
    """There is no job now; without a wake-up, look again after this time."""

    after_s: float
    limited: bool = False
    """The rate limit was reached, so there may be jobs."""


@dataclass(frozen=True, slots=True)
class QueueHandle:
    """The queue attributes that BullMQ's Job reads."""

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
        """Adds jobs in order. A job whose id the queue knows is left as it is (Q1)."""
        backend = await self._backend(queue)
        owner = QueueHandle(queue, backend, {})
        for start in range(0, len(jobs), BATCH):
            batch = [
                Job(owner, job.name, job.data, self._options(job))
                for job in jobs[start : start + BATCH]
            ]
            if len(batch) < self._store.smallest_bulk:
                for job in batch:
                    await self._answer(backend.addJob(job))
            else:
                await self._answer(backend.addJobs(batch))

    def _options(self, job: NewJob) -> dict[str, Any]:
        return {
            "jobId": job.id,
            "priority": job.priority,
            "attempts": 1,
            "removeOnComplete": self._keep_options(KEEP_COMPLETED),
            "removeOnFail": self._keep_options(KEEP_FAILED),
        }

    def _keep_options(self, keep: Keep) -> dict[str, int]:
        by_count = {"count": keep.count} if self._store.trims_by_count else {}
        return {"age": keep.age_s} | by_count

    async def take(
        self, queue: QueueName, token: str, lock_s: float, rate_per_s: float | None
    ) -> LockedJob | NoJob:
        backend = await self._backend(queue)
        options = {"lockDuration": in_ms(lock_s), "limiter": limiter(rate_per_s)}
        answer = await self._answer(backend.moveToActive(token, options))
        fields, job_id, limited_ms, due_at_ms = answer
        if fields:
            return LockedJob(
                queue, str(job_id), token, str(fields.get("data", "")), priority_of(fields)
            )
        if limited_ms:
            return NoJob(after_s=float(limited_ms) / 1000, limited=True)
        if due_at_ms:
            return NoJob(after_s=max(float(due_at_ms) / 1000 - time.time(), 0.001))
        return NoJob(after_s=math.inf)

    async def complete(self, locked: LockedJob) -> None:
        backend, job = await self._backend(locked.queue), self._job(locked)
        keep = self._keep_options(KEEP_COMPLETED)
        await self._with_lock(backend.moveToCompleted(job, None, keep, locked.token, False))

    async def fail(self, locked: LockedJob, reason: str) -> None:
        """Fails the job for good: a retry is another job."""
        backend, job = await self._backend(locked.queue), self._job(locked)
        keep = self._keep_options(KEEP_FAILED)
        await self._with_lock(backend.moveToFailed(job, reason, keep, locked.token, False))

    async def delay(self, locked: LockedJob, delay_s: float) -> None:
        backend = await self._backend(locked.queue)
        now_ms, delay_ms = in_ms(time.time()), max(in_ms(delay_s), 1)
        no_attempt = {"skipAttempt": True}
        await self._with_lock(
            backend.moveToDelayed(locked.id, now_ms, delay_ms, locked.token, no_attempt)
        )

    async def return_job(self, locked: LockedJob) -> None:
        """Also after others that came later: the job gets its place back."""
        await self._backend(locked.queue)
        await self._with_lock(self._store.return_job(locked))

    async def renew(
        self, queue: QueueName, held: Sequence[LockedJob], lock_s: float
    ) -> set[str]:
        """Returns the tokens of the jobs whose lock is lost."""
        backend = await self._backend(queue)
        ids, tokens = [each.id for each in held], [each.token for each in held]
        lost = set(await self._answer(backend.extendLocks(ids, tokens, in_ms(lock_s))))
        return {each.token for each in held if each.id in lost}

    async def rescue(self, queue: QueueName, every_s: float) -> list[str]:
        """Returns expired jobs to waiting, at most once in `every_s` for all consumers."""
        backend = await self._backend(queue)
        # Slightly less, or a caller with the same period would miss every second time.
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
        """Lists jobs from position `start`, the next to run first."""
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
        """Returns the ids that are waiting, delayed or active."""
        await self._backend(queue)
        return await self._answer(self._store.present(queue, ids))

    async def remove(self, queue: QueueName, job_id: str) -> bool:
        """Returns False when a worker holds the job, which then stays."""
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

    async def listen(self, queues: Collection[QueueName], wake_signal: WakeSignal) -> None:
        """Wakes when there may be work, until it raises QueueDown."""
        with self._errors_translated():
            await self._store.listen(queues, wake_signal)

    async def close(self) -> None:
        await self._store.close()

    async def _backend(self, queue: QueueName) -> Any:
        with self._errors_translated():
            await self._store.ready()
        return self._store.backend(queue)

    def _job(self, locked: LockedJob) -> Any:
        owner = QueueHandle(
            locked.queue, self._store.backend(locked.queue), {"lockDuration": 0}
        )
        return Job(owner, locked.queue, {}, {"attempts": 1}, locked.id)

    async def _with_lock(self, operation: Awaitable[T]) -> T:
        try:
            return await self._answer(operation)
        except TypeError as fault:  # BullMQ raises it for every fault of a lock
            raise LostLock(f"The lock on the job is lost: {fault}") from fault

    async def _answer(self, operation: Awaitable[T]) -> T:
        with self._errors_translated():
            async with asyncio.timeout(ANSWER_S):
                return await operation

    @contextmanager
    def _errors_translated(self) -> Iterator[None]:
        # Drivers raise the last two when a connection ends at a bad moment.
        driver: tuple[type[Exception], ...] = (OSError, RuntimeError, AttributeError)
        try:
            yield
        except self._store.faults + driver as fault:
            what = (str(fault).splitlines() or [""])[0] or "no answer in time"
            raise QueueDown(
                f"The queue store {self._store.shown} does not answer "
                f"({type(fault).__name__}: {what}). Jobs wait in the database: check that "
                "the store runs, that this machine reaches it, and that DEEMSTER_QUEUE_URL is "
                "right."
            ) from fault


def priority_of(fields: dict[str, Any]) -> int:
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
