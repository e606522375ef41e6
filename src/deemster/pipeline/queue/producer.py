"""Puts errands on the road, and says which of them are still there."""

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
    """Every method raises QueueDown, within seconds, while the store can't be used."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str, env: str) -> AsyncIterator[Self]:
        """A store that is down is no obstacle; an address that makes no sense is Refused."""
        engine = open_engine(url, env, f"deemster:{env}:producer")
        try:
            yield cls(engine)
        finally:
            await engine.close()

    async def send(self, errands: Sequence[Job]) -> None:
        """One that the queue knows already is left as it is (Q1)."""
        jobs: dict[QueueName, list[NewJob]] = defaultdict(list)
        for errand in errands:
            priority = min(max(errand.priority, 1), LOWEST_PRIORITY)
            job = NewJob(errand.job_id, errand.task, priority, pack(errand))
            jobs[errand.queue].append(job)
        for queue, batch in jobs.items():
            await self._engine.add(queue, batch)

    async def present(self, job_ids: Mapping[QueueName, Sequence[str]]) -> set[str]:
        """Those that wait, are delayed or are being worked on."""
        found: set[str] = set()
        for queue, ids in job_ids.items():
            found |= await self._engine.present(queue, ids)
        return found

    async def remove(self, errand: Job) -> bool:
        """True when the queue holds it no more; False when somebody is at it."""
        return await self._engine.remove(errand.queue, errand.job_id)

    async def depths(self) -> dict[QueueName, QueueDepth]:
        return {queue: await self._engine.depth(queue) for queue in QueueName}

    async def job_ids(
        self, queue: QueueName, state: JobState, *, start: int, most: int
    ) -> list[str]:
        """As they are in the line just now, from a place on."""
        return await self._engine.job_ids(queue, state, start=start, most=most)

    async def ping(self) -> None:
        await self._engine.ping()

    async def trim(self) -> None:
        """Finished jobs beyond count and age go (Q12)."""
        for queue in QueueName:
            await self._engine.trim(queue)
