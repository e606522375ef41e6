"""Queue stores that are down, hang, restart or are wiped."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
import redis.asyncio as redis_client
from psycopg import sql

from deemster.domain.job import QueueName
from deemster.pipeline.queue.engine import LockedJob, QueueDown
from deemster.pipeline.queue.producer import Producer
from deemster.pipeline.queue.stores import open_engine
from deemster.pipeline.queue.topology import ConsumerTimes, postgres_schema
from tests.pipeline.queue.stores import Seen, make_job, working
from tests.services.postgres import OwnPostgres
from tests.services.redis import OwnRedis
from tests.waiting import PATIENCE_S, until

Own = OwnPostgres | OwnRedis

ENV = "test"


@pytest.fixture(params=["postgres", "redis"])
async def own(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Own]:
    kinds: dict[str, Callable[[Path], Own]] = {"postgres": OwnPostgres, "redis": OwnRedis}
    async with kinds[request.param](tmp_path / "store") as server:
        yield server


async def test_a_store_that_is_down_raises_an_error_and_is_used_when_it_is_back(
    own: Own,
) -> None:
    """Q2"""
    url = own.url
    await own.stop()
    async with Producer.open(url, ENV) as producer:
        asking: list[Callable[[], Awaitable[object]]] = [
            producer.ping,
            producer.depths,
            producer.trim,
            lambda: producer.send([make_job(1)]),
            lambda: producer.remove(make_job(1)),
            lambda: producer.present([make_job(1)]),
        ]
        for ask in asking:
            async with asyncio.timeout(PATIENCE_S):
                with pytest.raises(QueueDown, match="does not answer"):
                    await ask()
        await own.start()
        for ask in asking:
            await ask()


async def test_a_consumer_survives_restarts_of_its_store(own: Own) -> None:
    """The store starts late, is killed during a job, and starts again."""
    url = own.url
    await own.stop()
    seen = Seen(held=True)
    pace = ConsumerTimes(poll_s=0.2, lock_s=1, stalled_s=0.2, slowest_retry_s=0.2)
    async with (
        Producer.open(url, ENV) as producer,
        working(url, ENV, seen, slots=2, times=pace),
    ):
        await own.start()
        await send_when_possible(producer, 1)
        await seen.has([make_job(1)])
        await own.kill()
        seen.gate.set()
        await until(lambda: seen.busy == 0)
        await own.start()
        await send_when_possible(producer, 2)
        await seen.has([make_job(2)])


async def test_an_idle_consumer_is_woken_after_a_restart_of_the_store(own: Own) -> None:
    seen = Seen()
    async with Producer.open(own.url, ENV) as producer, working(own.url, ENV, seen):
        await send_when_possible(producer, 1)
        await seen.has([make_job(1)])
        await own.restart()
        await send_when_possible(producer, 2)
        await seen.has([make_job(2)])


async def test_a_hanging_store_times_out_and_is_used_when_it_answers_again(own: Own) -> None:
    seen = Seen()
    async with Producer.open(own.url, ENV) as producer, working(own.url, ENV, seen):
        await producer.send([make_job(1)])
        await seen.has([make_job(1)])
        with suspended(own.pid):
            async with asyncio.timeout(PATIENCE_S):
                with pytest.raises(QueueDown):
                    await producer.send([make_job(2)])
        await send_when_possible(producer, 3)
        await seen.has([make_job(3)])


async def test_a_wiped_store_can_still_be_used(own: Own) -> None:
    """Q6: the jobs are lost, and no consumer or producer fails."""
    seen = Seen(held=True)
    async with Producer.open(own.url, ENV) as producer, working(own.url, ENV, seen, slots=2):
        await producer.send([make_job(1), make_job(2), make_job(3)])
        await until(lambda: seen.busy == 2)
        await wipe(own.url)
        seen.gate.set()
        for number in (3, 4):
            await send_when_possible(producer, number)
            await seen.has([make_job(number)])
        assert await producer.present([make_job(1)]) == set()


async def test_a_consumer_goes_on_after_others_made_a_wiped_store_anew(
    database_url: str,
) -> None:
    """Q6: statements that were prepared for the dropped tables do not fail for ever."""
    used = 12  # a statement that was run some times is prepared
    async with asyncio.timeout(PATIENCE_S):
        engine = open_engine(database_url, ENV, "consumer")
        try:
            for number in range(used):
                await engine.take(QueueName.DEFAULT, f"token:{number}", 15, None)
            await wipe(database_url)
            async with Producer.open(database_url, ENV) as producer:
                await producer.send([make_job(1)])
            failures = 0
            while True:
                try:
                    found = await engine.take(QueueName.DEFAULT, "token:last", 15, None)
                    break
                except QueueDown:
                    failures += 1
        finally:
            await engine.close()
    assert isinstance(found, LockedJob)
    assert failures <= 2


async def test_forgotten_scripts_are_loaded_again(tmp_path: Path) -> None:
    """In a server of its own: BullMQ, with which other tests look at queues, does not do it."""
    seen = Seen()
    async with (
        OwnRedis(tmp_path / "store") as server,
        Producer.open(server.url, ENV) as producer,
        working(server.url, ENV, seen),
        redis_client.from_url(server.url) as client,
    ):
        for number in range(3):
            await client.script_flush()
            await producer.send([make_job(number), make_job(number + 10)])
            await seen.has([make_job(number), make_job(number + 10)])


async def send_when_possible(producer: Producer, number: int) -> None:
    async def sent() -> bool:
        try:
            await producer.send([make_job(number)])
        except QueueDown:
            return False
        return True

    await until(sent)


async def wipe(url: str) -> None:
    if url.startswith("redis"):
        async with redis_client.from_url(url) as client:
            await client.flushall()
        return
    async with await psycopg.AsyncConnection.connect(url) as connection:
        schema = sql.Identifier(postgres_schema(ENV))
        await connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(schema))


@contextmanager
def suspended(server: int) -> Iterator[None]:
    """Suspends the server and its processes by SIGSTOP."""
    pids = [server, *children(server)]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
