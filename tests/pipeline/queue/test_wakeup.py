"""Wake-ups: a lost one costs only a short delay, and none is kept from other consumers."""

import asyncio

import psycopg
import pytest
import redis.asyncio as redis_client
from psycopg import sql

from deemster.domain.job import QueueName
from deemster.pipeline.queue.engine import WakeSignal
from deemster.pipeline.queue.fetcher import DeliveredJob, Done, RetryLater
from deemster.pipeline.queue.producer import Producer
from deemster.pipeline.queue.redis_store import RedisStore
from deemster.pipeline.queue.topology import postgres_schema, redis_prefix
from tests.pipeline.queue.stores import make_job, until_counts, working
from tests.waiting import PATIENCE_S, until


async def test_a_wake_up_before_the_wait_is_not_lost() -> None:
    wake_signal = WakeSignal()
    wake_signal.clear()
    wake_signal.wake()
    async with asyncio.timeout(PATIENCE_S):
        await wake_signal.wait(PATIENCE_S * 2)


async def test_polling_makes_up_for_a_lost_wake_up(queue_url: str, queue_env: str) -> None:
    """The job is requeued without BullMQ, so nobody is woken."""
    deliveries = 0

    async def handler(delivery: DeliveredJob) -> Done | RetryLater:
        nonlocal deliveries
        deliveries += 1
        return RetryLater(3600) if deliveries == 1 else Done()

    async with (
        Producer.open(queue_url, queue_env) as producer,
        working(queue_url, queue_env, handler),
    ):
        await producer.send([make_job(1)])
        await until_counts(queue_url, queue_env, {"delayed": 1})
        await requeue_without_wake_up(queue_url, queue_env, make_job(1).job_id)
        await until(lambda: deliveries == 2)


async def requeue_without_wake_up(url: str, env: str, job_id: str) -> None:
    if url.startswith("redis"):
        prefix = f"{redis_prefix(env)}:{QueueName.DEFAULT}"
        async with redis_client.from_url(url) as client, client.pipeline() as pipe:
            pipe.zrem(f"{prefix}:delayed", job_id)
            pipe.zadd(f"{prefix}:prioritized", {job_id: 1})
            await pipe.execute()
        return
    async with await psycopg.AsyncConnection.connect(url) as connection:
        table = sql.Identifier(postgres_schema(env), "job")
        statement = sql.SQL("UPDATE {} SET state = 'waiting' WHERE id = %s").format(table)
        await connection.execute(statement, (job_id,))


@pytest.mark.parametrize("wanted", [True, False])
async def test_a_busy_consumer_puts_the_marker_back(
    redis_url: str, queue_env: str, wanted: bool
) -> None:
    """Otherwise an idle consumer would not be woken."""
    store, wake_signal = RedisStore(redis_url, queue_env, "test"), WakeSignal()
    marker = f"{redis_prefix(queue_env)}:{QueueName.LOW}:marker"
    async with redis_client.from_url(redis_url) as client, asyncio.TaskGroup() as group:
        wake_signal.wanted.set()
        listening = group.create_task(store.listen(list(QueueName), wake_signal))
        await until_blocked(client, 1)
        if not wanted:
            wake_signal.wanted.clear()
        await client.zadd(marker, {"0": 0})
        await until_blocked(client, 0)
        if wanted:
            await until(wake_signal._set.is_set)
            assert await client.zcard(marker) == 0
        else:
            await until(lambda: exists(client, marker))
            assert not wake_signal._set.is_set()
        while not listening.done():
            listening.cancel()
            await asyncio.wait([listening], timeout=0.1)
    await store.close()


async def until_blocked(client: redis_client.Redis, number: int) -> None:
    """Waits until that many connections of this test wait for a marker."""

    async def agree() -> bool:
        rows = await client.client_list()
        waiting = [row for row in rows if row["name"] == "test" and "b" in row["flags"]]
        return len(waiting) == number

    await until(agree)


async def exists(client: redis_client.Redis, key: str) -> bool:
    return bool(await client.exists(key))
