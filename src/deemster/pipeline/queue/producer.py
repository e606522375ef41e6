"""Sends jobs to the queue, and reports which jobs the queue holds."""

from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Self

from deemster.domain.job import Job, QueueName
from deemster.domain.queue_depth import JobState, QueueDepth
from deemster.pipeline.queue.engine import Engine, NewJob
from deemster.pipeline.queue.messages import pack
from deemster.pipeline.queue.stores import open_engine
from deemster.pipeline.queue.topology import LOWEST_PRIORITY


class Producer:
    """Every method raises QueueDown within seconds while the store does not answer."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str, env: str) -> AsyncIterator[Self]:
        """Succeeds while the store is down; refuses an address that is not understood."""
        engine = open_engine(url, env, f"deemster:{env}:producer")
        try:
            yield cls(engine)
        finally:
            await engine.close()

    async def send(self, jobs: Sequence[Job]) -> None:
        """A job that the queue knows already is left as it is (Q1)."""
        by_queue: dict[QueueName, list[NewJob]] = defaultdict(list)
        for job in jobs:
            priority = min(max(job.priority, 1), LOWEST_PRIORITY)
            by_queue[job.queue].append(NewJob(job.job_id, job.task, priority, pack(job)))
        for queue, batch in by_queue.items():
            await self._engine.add(queue, batch)

    async def present(self, job_ids: Mapping[QueueName, Sequence[str]]) -> set[str]:
        """Returns the ids that wait, are delayed or are running."""
        found: set[str] = set()
        for queue, ids in job_ids.items():
            found |= await self._engine.present(queue, ids)
        return found

    async def remove(self, job: Job) -> bool:
        """Returns False when a worker holds the job, which then stays."""
        return await self._engine.remove(job.queue, job.job_id)

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
