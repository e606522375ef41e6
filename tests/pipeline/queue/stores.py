"""Helpers of the queue tests: jobs, running consumers, and BullMQ's own view of a queue."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import bullmq

from deemster.domain.ids import ProblemId, RevisionDigest, work_id
from deemster.domain.job import Job, QueueName, Task
from deemster.pipeline.queue.consumer import Consumer
from deemster.pipeline.queue.fetcher import DeliveredJob, Done, Handler
from deemster.pipeline.queue.topology import ConsumerTimes, postgres_schema, redis_prefix
from tests.waiting import PATIENCE_S, until

QUICK = ConsumerTimes(poll_s=0.2, lock_s=1.5, stalled_s=0.2, slowest_retry_s=0.3)


def make_job(
    number: int, task: Task = Task.RUN, *, priority: int = 1, dispatch: int = 1
) -> Job:
    is_submission = task.kind == "submission"
    return Job(
        work=work_id(f"{task.kind[:3]}_{number:04}"),
        task=task,
        dispatch=dispatch,
        priority=priority,
        problem=ProblemId("prob_aplusb") if is_submission else None,
        revision=RevisionDigest("a" * 64) if is_submission else None,
        attempt=0,
    )


def for_all(handler: Handler) -> dict[QueueName, Handler]:
    return dict.fromkeys(QueueName, handler)


class Seen:
    """A handler that records its jobs, and can wait for a gate."""

    def __init__(self, *, held: bool = False) -> None:
        self.ids: list[str] = []
        self.finished: list[str] = []
        self.busy = 0
        self.busiest = 0
        self.gate = asyncio.Event()
        if not held:
            self.gate.set()

    async def __call__(self, delivery: DeliveredJob) -> Done:
        self.ids.append(delivery.job.job_id)
        self.busy += 1
        self.busiest = max(self.busy, self.busiest)
        try:
            await self.gate.wait()
        finally:
            self.busy -= 1
        self.finished.append(delivery.job.job_id)
        return Done()

    async def has(self, jobs: Iterable[Job]) -> None:
        """Waits until these were delivered."""
        wanted = {each.job_id for each in jobs}
        await until(lambda: wanted <= set(self.ids))


@asynccontextmanager
async def working(
    url: str,
    env: str,
    handler: Handler,
    *,
    slots: int = 1,
    times: ConsumerTimes = QUICK,
    **options: Any,
) -> AsyncIterator[Consumer]:
    """Runs a consumer of all queues, and drains it at the end."""
    async with (
        Consumer.open(
            url, env, for_all(handler), slots=slots, name="test", times=times, **options
        ) as consumer,
        asyncio.timeout(PATIENCE_S * 2),
        asyncio.TaskGroup() as group,
    ):
        group.create_task(consumer.run())
        yield consumer
        consumer.drain()


@asynccontextmanager
async def bullmq_queue(url: str, env: str, queue: QueueName) -> AsyncIterator[Any]:
    """The queue as another program with BullMQ sees it."""
    options: dict[str, Any] = {"connection": url}
    if url.startswith("postgres"):
        options |= {"backend": "postgres", "schema": postgres_schema(env)}
    else:
        options |= {"prefix": redis_prefix(env)}
    seen = bullmq.Queue(queue, options)
    try:
        yield seen
    finally:
        await seen.close()


async def counts(url: str, env: str, queue: QueueName = QueueName.DEFAULT) -> dict[str, int]:
    """Number of jobs by state, without zeros."""
    async with bullmq_queue(url, env, queue) as seen:
        return await counts_of(seen)


async def counts_of(seen: Any) -> dict[str, int]:
    states = ("wait", "prioritized", "delayed", "active", "completed", "failed")
    found: dict[str, int] = await seen.getJobCounts(*states)
    return {state: number for state, number in found.items() if number}


async def until_counts(
    url: str, env: str, wanted: dict[str, int], queue: QueueName = QueueName.DEFAULT
) -> None:
    async with bullmq_queue(url, env, queue) as seen:

        async def agree() -> bool:
            return await counts_of(seen) == wanted

        await until(agree)
