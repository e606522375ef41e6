"""Sends jobs to the queue, and reports which jobs the queue holds."""

from collections import defaultdict
from collections.abc import AsyncIterator, Container, Sequence
from contextlib import asynccontextmanager
from typing import Self

from deemster.domain.job import TRANSMITTABLE, Job, QueueName, Task
from deemster.domain.queue_depth import JobState, QueueDepth
from deemster.pipeline.queue.engine import Engine, NewJob
from deemster.pipeline.queue.messages import pack
from deemster.pipeline.queue.stores import open_engine
from deemster.pipeline.queue.topology import LOWEST_PRIORITY


class Producer:
    """Every method raises QueueDown within seconds while the store does not answer."""

    def __init__(self, engine: Engine, transmitted: Container[Task] = ()) -> None:
        self._engine = engine
        self._transmitted = transmitted

    @classmethod
    @asynccontextmanager
    async def open(
        cls, url: str, env: str, transmitted: Container[Task] = ()
    ) -> AsyncIterator[Self]:
        """Jobs of the tasks `transmitted` go to the queue from which judge hosts are served.

        Succeeds while the store is down; refuses an address that is not understood.
        """
        engine = open_engine(url, env, f"deemster:{env}:producer")
        try:
            yield cls(engine, transmitted)
        finally:
            await engine.close()

    async def send(self, jobs: Sequence[Job]) -> None:
        """A job that the queue knows already is left as it is (Q1)."""
        by_queue: dict[QueueName, list[NewJob]] = defaultdict(list)
        for job in jobs:
            by_queue[self._queue_of(job)].append(packed(job))
        for queue, batch in by_queue.items():
            await self._engine.add(queue, batch)

    async def send_to_workers(self, job: Job) -> None:
        """Sends a job to the queue of local workers that was in the queue for judge hosts."""
        await self._engine.add(job.queue, [packed(job)])

    async def present(self, jobs: Sequence[Job]) -> set[str]:
        """Returns the ids of jobs that wait, are delayed or are running.

        Jobs that were sent to judge hosts before the setting was changed do not count, because
        no dispatcher may run any more: their work is sent again. If one runs after all, the
        attempt lets only one of both jobs start.
        """
        ids: dict[QueueName, list[str]] = defaultdict(list)
        for job in jobs:
            ids[job.queue].append(job.job_id)
            if job.task in self._transmitted:
                ids[QueueName.TRANSMIT].append(job.job_id)
        found: set[str] = set()
        for queue, wanted in ids.items():
            found |= await self._engine.present(queue, wanted)
        return found

    async def remove(self, job: Job) -> bool:
        """Returns False when a worker holds the job, which then stays."""
        removed = await self._engine.remove(job.queue, job.job_id)
        if job.task in TRANSMITTABLE:
            removed = await self._engine.remove(QueueName.TRANSMIT, job.job_id) and removed
        return removed

    def _queue_of(self, job: Job) -> QueueName:
        return QueueName.TRANSMIT if job.task in self._transmitted else job.queue

    async def depths(self) -> dict[QueueName, QueueDepth]:
        return {queue: await self._engine.depth(queue) for queue in QueueName}

    async def job_ids(
        self, queue: QueueName, state: JobState, *, start: int, most: int
    ) -> list[str]:
        """Lists jobs in their present order, from position `start`."""
        return await self._engine.job_ids(queue, state, start=start, most=most)

    async def ping(self) -> None:
        await self._engine.ping()

    async def trim(self) -> None:
        """Removes finished jobs beyond count and age (Q12)."""
        for queue in QueueName:
            await self._engine.trim(queue)


def packed(job: Job) -> NewJob:
    priority = min(max(job.priority, 1), LOWEST_PRIORITY)
    return NewJob(job.job_id, job.task, priority, pack(job))
