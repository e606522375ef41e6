"""Measures how soon a free slot starts the next job, with a short and a long queue.

    python -m deemster.bench.depth [--shallow 100] [--deep 100000] [--queue redis]

Both queues are in one store, a private Redis or Postgres, and take turns. In a probe the only
slot is busy, an urgent job is sent, the slot becomes free, and the urgent job starts. Prints
JSON.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import uvloop

from deemster.bench.load.redis_server import run_redis
from deemster.domain.ids import SUBMISSION, ProblemId, RevisionDigest, SubmissionId, new_id
from deemster.domain.job import Job, QueueName, Task
from deemster.pipeline.queue.consumer import Consumer
from deemster.pipeline.queue.fetcher import DeliveredJob, Done
from deemster.pipeline.queue.producer import Producer
from deemster.store.embedded import run_cluster

BATCH = 500
TURN = 10
URGENT, NORMAL = 1, 1_000_001


def make_job(priority: int) -> Job:
    return Job(
        work=SubmissionId(new_id(SUBMISSION)),
        task=Task.RUN,
        dispatch=1,
        priority=priority,
        problem=ProblemId("prob_bench"),
        revision=RevisionDigest("0" * 64),
        attempt=0,
    )


class ProbedQueue:
    def __init__(self, producer: Producer) -> None:
        self._producer = producer
        self._is_busy = asyncio.Event()
        self._release = asyncio.Event()
        self._started: asyncio.Future[float] | None = None
        self.send_ms: list[float] = []
        self.start_ms: list[float] = []

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str, env: str) -> AsyncIterator["ProbedQueue"]:
        async with Producer.open(url, env) as producer:
            yield cls(producer)

    async def fill(self, depth: int) -> float:
        """Returns the number of jobs added per second."""
        began = time.perf_counter()
        for begin in range(0, depth, BATCH):
            size = min(BATCH, depth - begin)
            await self._producer.send([make_job(NORMAL) for _ in range(size)])
        return depth / (time.perf_counter() - began)

    async def handle(self, delivery: DeliveredJob) -> Done:
        """A normal job keeps the slot until the next probe."""
        if delivery.job.priority == URGENT:
            assert self._started is not None
            self._started.set_result(time.perf_counter())
            return Done()
        self._is_busy.set()
        await self._release.wait()
        self._is_busy.clear()
        self._release.clear()
        return Done()

    async def probe(self) -> None:
        await self._is_busy.wait()
        await self._producer.send([make_job(NORMAL)])  # replaces the one that ends
        self._started = asyncio.get_running_loop().create_future()
        began = time.perf_counter()
        await self._producer.send([make_job(URGENT)])
        sent = time.perf_counter()
        self._release.set()
        async with asyncio.timeout(60):
            started = await self._started
        self.send_ms.append((sent - began) * 1000)
        self.start_ms.append((started - sent) * 1000)

    async def depth(self) -> int:
        return (await self._producer.depths())[QueueName.DEFAULT].waiting

    def figures(self) -> dict[str, float]:
        return {
            "send_p50_ms": round(statistics.median(self.send_ms), 3),
            "start_p50_ms": round(statistics.median(self.start_ms), 3),
            "start_p99_ms": round(sorted(self.start_ms)[int(0.99 * len(self.start_ms))], 3),
        }


async def measure(url: str, shallow: int, deep: int, probes: int) -> dict[str, object]:
    async with AsyncExitStack() as stack:
        queues = [
            await stack.enter_async_context(ProbedQueue.open(url, name))
            for name in ("shallow", "deep")
        ]
        rates = [
            await queue.fill(depth)
            for queue, depth in zip(queues, (shallow, deep), strict=True)
        ]
        consumers = [
            await stack.enter_async_context(
                Consumer.open(
                    url, name, {QueueName.DEFAULT: queue.handle}, slots=1, name=f"bench-{name}"
                )
            )
            for name, queue in zip(("shallow", "deep"), queues, strict=True)
        ]
        async with asyncio.TaskGroup() as group:
            for consumer in consumers:
                group.create_task(consumer.run())
            for queue in queues:
                await queue.probe()  # not counted: the first one costs more
                queue.send_ms.clear()
                queue.start_ms.clear()
            for _ in range(0, probes, TURN):
                for queue in queues:
                    for _ in range(TURN):
                        await queue.probe()
            depths = [await queue.depth() for queue in queues]
            for consumer in consumers:
                await consumer.stop()
    figures = [queue.figures() for queue in queues]
    return {
        "shallow": {"depth": depths[0], **figures[0]},
        "deep": {"depth": depths[1], **figures[1]},
        "ratio": round(figures[1]["start_p50_ms"] / figures[0]["start_p50_ms"], 3),
        "send_ratio": round(figures[1]["send_p50_ms"] / figures[0]["send_p50_ms"], 3),
        "filled_per_s": round(rates[1]),
        "probes": probes,
    }


async def run(options: argparse.Namespace, directory: Path) -> dict[str, object]:
    async with AsyncExitStack() as stack:
        if options.queue == "redis":
            url = await stack.enter_async_context(run_redis(directory))
        else:
            url = (await stack.enter_async_context(run_cluster(directory))).url
        return await measure(url, options.shallow, options.deep, options.probes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shallow", type=int, default=100)
    parser.add_argument("--deep", type=int, default=100_000)
    parser.add_argument("--probes", type=int, default=200)
    parser.add_argument("--queue", choices=["redis", "postgres"], default="redis")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="deemster-bench-", dir="/var/tmp") as directory:
        print(json.dumps(uvloop.run(run(options, Path(directory)))))


if __name__ == "__main__":
    main()
