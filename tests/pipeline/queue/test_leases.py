"""Job locks are renewed while a job runs, and expire with the worker; on both stores."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
import redis.asyncio as redis_client
from psycopg import sql

from deemster.domain.job import Job
from deemster.pipeline.queue.fetcher import DeliveredJob, Done
from deemster.pipeline.queue.producer import Producer
from deemster.pipeline.queue.topology import ConsumerTimes, postgres_schema, redis_prefix
from tests.pipeline.queue.stores import QUICK, Seen, counts, make_job, until_counts, working
from tests.waiting import PATIENCE_S, until

ROOT = Path(__file__).parents[3]


async def test_a_long_job_keeps_its_lock(queue_url: str, queue_env: str) -> None:
    """Q5: while another consumer looks for expired jobs."""
    deliveries = []

    async def handler(delivery: DeliveredJob) -> Done:
        deliveries.append(delivery.job)
        await asyncio.sleep(QUICK.lock_s * 2.5)
        return Done()

    async with (
        Producer.open(queue_url, queue_env) as producer,
        working(queue_url, queue_env, handler, slots=2),
        working(queue_url, queue_env, handler),
    ):
        await producer.send([make_job(1), make_job(2)])
        await until_counts(queue_url, queue_env, {"completed": 2})
    assert sorted(deliveries, key=lambda each: each.work) == [make_job(1), make_job(2)]


async def test_a_handler_can_set_a_longer_lock(queue_url: str, queue_env: str) -> None:
    """Q5"""
    left_s = []

    async def handler(delivery: DeliveredJob) -> Done:
        left_s.append(await lock_left_s(queue_url, queue_env, delivery.job))
        delivery.set_lock(100)

        async def is_longer() -> bool:
            left_s.append(await lock_left_s(queue_url, queue_env, delivery.job))
            return left_s[-1] > 15

        await until(is_longer)
        return Done()

    async with (
        Producer.open(queue_url, queue_env) as producer,
        working(queue_url, queue_env, handler, times=ConsumerTimes(lock_s=15)),
    ):
        await producer.send([make_job(1)])
        await until_counts(queue_url, queue_env, {"completed": 1})
    assert left_s[0] <= 15
    assert 15 < left_s[-1] <= 100


async def lock_left_s(url: str, env: str, job: Job) -> float:
    if url.startswith("redis"):
        async with redis_client.from_url(url) as client:
            key = f"{redis_prefix(env)}:{job.queue}:{job.job_id}:lock"
            return float(await client.pttl(key)) / 1000
    async with await psycopg.AsyncConnection.connect(url) as connection:
        statement = sql.SQL(
            "SELECT locked_until_ms / 1000.0 - extract(epoch FROM clock_timestamp())"
            " FROM {} WHERE id = %s"
        )
        table = sql.Identifier(postgres_schema(env), "job")
        rows = await connection.execute(statement.format(table), (job.job_id,))
        (left_s,) = await rows.fetchone() or (0,)
        return float(left_s)


async def test_jobs_of_killed_consumers_come_back_every_time(
    queue_url: str, queue_env: str
) -> None:
    """Q5, Q6: the database decides whether the job runs again."""
    seen = Seen()
    async with Producer.open(queue_url, queue_env) as producer:
        await producer.send([make_job(1)])
        for _ in range(2):
            async with consumer_process(queue_url, queue_env) as process:
                assert await told(process) == f"taken {make_job(1).job_id}"
                process.kill()
        async with working(queue_url, queue_env, seen):
            await until_counts(queue_url, queue_env, {"completed": 1})
    assert seen.ids == [make_job(1).job_id]


async def test_a_consumer_that_lost_its_lock_cannot_finish_the_job(
    queue_url: str, queue_env: str
) -> None:
    """Q5: and it goes on with the next job."""
    seen = Seen(held=True)
    async with (
        Producer.open(queue_url, queue_env) as producer,
        consumer_process(queue_url, queue_env) as process,
    ):
        await producer.send([make_job(1)])
        assert await told(process) == f"taken {make_job(1).job_id}"
        process.send_signal(signal.SIGSTOP)
        async with working(queue_url, queue_env, seen):
            await seen.has([make_job(1)])
            process.send_signal(signal.SIGCONT)
            await tell(process)
            await producer.send([make_job(2)])
            assert await told(process) == f"taken {make_job(2).job_id}"
            assert await counts(queue_url, queue_env) == {"active": 2}
            seen.gate.set()
        await tell(process)
        await until_counts(queue_url, queue_env, {"completed": 2})
    assert seen.finished == [make_job(1).job_id]


async def test_a_draining_consumer_keeps_the_locks_of_its_last_jobs(
    queue_url: str, queue_env: str
) -> None:
    """Q14"""
    seen, other = Seen(), Seen()

    async def handler(delivery: DeliveredJob) -> Done:
        consumer.drain()
        await asyncio.sleep(QUICK.lock_s * 2.5)
        return await seen(delivery)

    async with (
        Producer.open(queue_url, queue_env) as producer,
        working(queue_url, queue_env, handler) as consumer,
    ):
        await producer.send([make_job(1)])
        await until(lambda: consumer.busy == 1)
        async with working(queue_url, queue_env, other):
            await seen.has([make_job(1)])
    assert other.ids == []
    assert await counts(queue_url, queue_env) == {"completed": 1}


@asynccontextmanager
async def consumer_process(url: str, env: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *("setpriv", "--pdeathsig", "KILL"),
        *(sys.executable, "-m", "tests.pipeline.queue.consumer_process", url, env),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def told(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE_S):
        return (await process.stdout.readline()).decode().strip()


async def tell(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.write(b"\n")
    await process.stdin.drain()
