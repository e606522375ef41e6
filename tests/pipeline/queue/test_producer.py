"""The producer sends and looks up jobs, on both stores."""

import time

import psycopg
import pytest
import redis.asyncio as redis_client
from psycopg import sql

from deemster.domain.errors import Refused
from deemster.domain.job import Job, QueueName, Task
from deemster.domain.queue_depth import JobState, QueueDepth
from deemster.pipeline.queue import engine
from deemster.pipeline.queue.producer import Producer
from deemster.pipeline.queue.topology import (
    KEEP_COMPLETED,
    LOWEST_PRIORITY,
    Keep,
    postgres_schema,
    redis_prefix,
)
from tests.pipeline.queue.stores import (
    Seen,
    bullmq_queue,
    counts,
    make_job,
    until_counts,
    working,
)

EMPTY = QueueDepth(waiting=0, active=0, delayed=0)


async def test_a_job_sent_twice_is_queued_once(queue_url: str, queue_env: str) -> None:
    """Q1: alone, in the same batch, and in a later one."""
    async with Producer.open(queue_url, queue_env) as producer:
        await producer.send([make_job(1)])
        await producer.send([make_job(1)])
        await producer.send([make_job(2), make_job(1), make_job(2)])
        assert await counts(queue_url, queue_env) == {"prioritized": 2}
        many = [*map(make_job, range(1, 41)), make_job(40)]  # which are added in bulk
        await producer.send(many)
        await producer.send(many)
    assert await counts(queue_url, queue_env) == {"prioritized": 40}


@pytest.mark.parametrize("count", [3, 30])
async def test_jobs_of_a_batch_are_taken_in_its_order(
    queue_url: str, queue_env: str, count: int
) -> None:
    """Small batches are added one by one on Postgres, large ones in bulk."""
    jobs, seen = [make_job(number) for number in range(count)], Seen()
    async with Producer.open(queue_url, queue_env) as producer:
        await producer.send(jobs)
        async with working(queue_url, queue_env, seen):
            await seen.has(jobs)
    assert seen.ids == [job.job_id for job in jobs]


async def test_a_running_job_is_not_queued_again(queue_url: str, queue_env: str) -> None:
    """Q1"""
    seen = Seen(held=True)
    async with (
        Producer.open(queue_url, queue_env) as producer,
        working(queue_url, queue_env, seen),
    ):
        await producer.send([make_job(1)])
        await seen.has([make_job(1)])
        await producer.send([make_job(1)])
        assert await counts(queue_url, queue_env) == {"active": 1}
        seen.gate.set()


async def test_a_finished_job_does_not_run_again_but_a_new_dispatch_does(
    queue_url: str, queue_env: str
) -> None:
    seen, again = Seen(), make_job(1, dispatch=2)
    async with (
        Producer.open(queue_url, queue_env) as producer,
        working(queue_url, queue_env, seen),
    ):
        await producer.send([make_job(1)])
        await until_counts(queue_url, queue_env, {"completed": 1})
        await producer.send([make_job(1), again])
        await until_counts(queue_url, queue_env, {"completed": 2})
    assert seen.ids == [make_job(1).job_id, again.job_id]


async def test_lower_priorities_go_first_and_equal_ones_in_order(
    queue_url: str, queue_env: str
) -> None:
    """Q8"""
    priorities = [500_001, 1, 3, 1, 500_001, 2, 1_500_000, 1]
    sent = [make_job(number, priority=priority) for number, priority in enumerate(priorities)]
    seen = Seen()
    async with Producer.open(queue_url, queue_env) as producer:
        await producer.send(sent[:5])
        for late in sent[5:]:
            await producer.send([late])
    async with working(queue_url, queue_env, seen):
        await seen.has(sent)
    in_order = sorted(sent, key=lambda each: (each.priority, each.work))
    assert seen.ids == [each.job_id for each in in_order]


async def test_priorities_are_clamped_to_the_range_of_bullmq(
    queue_url: str, queue_env: str
) -> None:
    """BullMQ runs priority 0 before all others."""
    sent = [make_job(1), make_job(2, priority=0), make_job(3, priority=LOWEST_PRIORITY + 7)]
    seen = Seen()
    async with Producer.open(queue_url, queue_env) as producer:
        await producer.send(sent)
    async with working(queue_url, queue_env, seen):
        await seen.has(sent)
    assert seen.ids == [each.job_id for each in sent]


async def test_waiting_delayed_and_running_jobs_are_present(
    queue_url: str, queue_env: str
) -> None:
    """Q6"""
    at_work, waiting, gone = make_job(1), make_job(2), make_job(3)
    low = make_job(4, Task.ANALYZE)
    seen = Seen(held=True)
    asked = (at_work, waiting, gone, low)
    async with Producer.open(queue_url, queue_env) as producer:
        assert await producer.present(asked) == set()
        await producer.send([at_work])
        async with working(queue_url, queue_env, seen):
            await seen.has([at_work])
            await producer.send([waiting, low])
            held = {each.job_id for each in (at_work, waiting, low)}
            assert await producer.present(asked) == held
            seen.gate.set()
            await seen.has([waiting, low])
            await until_counts(queue_url, queue_env, {"completed": 2})
            await until_counts(queue_url, queue_env, {"completed": 1}, QueueName.LOW)
        assert await producer.present(asked) == set()


async def test_many_ids_can_be_looked_up_at_once(queue_url: str, queue_env: str) -> None:
    sent = [make_job(number) for number in range(500)]
    async with Producer.open(queue_url, queue_env) as producer:
        await producer.send(sent[::2])
        found = await producer.present(sent)
    assert found == {each.job_id for each in sent[::2]}


async def test_a_waiting_job_can_be_removed_but_a_running_one_cannot(
    queue_url: str, queue_env: str
) -> None:
    seen = Seen(held=True)
    async with (
        Producer.open(queue_url, queue_env) as producer,
        working(queue_url, queue_env, seen),
    ):
        await producer.send([make_job(1)])
        await seen.has([make_job(1)])
        await producer.send([make_job(2), make_job(3)])
        assert await producer.remove(make_job(2))
        assert not await producer.remove(make_job(1))
        assert await producer.remove(make_job(99)), "nobody knows it, so nobody is at it"
        seen.gate.set()
        await seen.has([make_job(3)])
    assert seen.finished == [make_job(1).job_id, make_job(3).job_id]


async def test_depths_are_reported_by_queue(queue_url: str, queue_env: str) -> None:
    seen = Seen(held=True)
    async with Producer.open(queue_url, queue_env) as producer:
        assert await producer.depths() == dict.fromkeys(QueueName, EMPTY)
        await producer.send([make_job(number) for number in range(5)])
        await producer.send([make_job(7, Task.EVALUATE)])
        async with working(queue_url, queue_env, seen, slots=2):
            await until_counts(queue_url, queue_env, {"prioritized": 4, "active": 1})
            assert await producer.depths() == {
                **dict.fromkeys(QueueName, EMPTY),
                QueueName.CRITICAL: QueueDepth(waiting=0, active=1, delayed=0),
                QueueName.DEFAULT: QueueDepth(waiting=4, active=1, delayed=0),
            }
            seen.gate.set()


async def test_ids_are_listed_in_queue_order_and_in_pages(
    queue_url: str, queue_env: str
) -> None:
    """A8"""
    sent = [make_job(number, priority=9 - number) for number in range(7)]
    line = [each.job_id for each in reversed(sent)]
    seen = Seen(held=True)
    async with Producer.open(queue_url, queue_env) as producer:
        await producer.send(sent)

        async def page(state: JobState, start: int, most: int) -> list[str]:
            return await producer.job_ids(QueueName.DEFAULT, state, start=start, most=most)

        assert await page(JobState.WAITING, 0, 100) == line
        assert await page(JobState.WAITING, 2, 3) == line[2:5]
        assert await page(JobState.WAITING, 6, 3) == line[6:]
        assert await page(JobState.WAITING, 7, 3) == []
        assert await page(JobState.FAILED, 0, 3) == []
        async with working(queue_url, queue_env, seen, slots=3):
            await until_counts(queue_url, queue_env, {"prioritized": 4, "active": 3})
            assert set(await page(JobState.ACTIVE, 0, 100)) == set(line[:3])
            parts = [await page(JobState.ACTIVE, start, 2) for start in (0, 2)]
            assert set(parts[0]) | set(parts[1]) == set(line[:3])
            assert (len(parts[0]), len(parts[1])) == (2, 1)
            seen.gate.set()
            await seen.has(sent)
        assert set(await page(JobState.COMPLETED, 0, 100)) == set(line)


async def test_jobs_carry_ids_only_and_any_bullmq_can_read_them(
    queue_url: str, queue_env: str
) -> None:
    """Q10"""
    sent = make_job(1, priority=5)
    async with (
        Producer.open(queue_url, queue_env) as producer,
        bullmq_queue(queue_url, queue_env, QueueName.DEFAULT) as queue,
    ):
        await producer.send([sent])
        job = await queue.getJob(sent.job_id)
    assert (job.name, job.priority) == ("submission:run", 5)
    assert job.data == {
        "work": sent.work,
        "task": "submission:run",
        "problem": sent.problem,
        "revision": sent.revision,
        "attempt": 0,
        "dispatch": 1,
    }


async def test_finished_jobs_are_trimmed_by_count(
    queue_url: str, queue_env: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Q12"""
    monkeypatch.setattr(engine, "KEEP_COMPLETED", Keep(count=50, age_s=3600))
    sent = [make_job(number) for number in range(70)]
    seen = Seen()
    async with Producer.open(queue_url, queue_env) as producer:
        await producer.send(sent)
        async with working(queue_url, queue_env, seen, slots=4):
            await seen.has(sent)
        await producer.trim()
        assert await counts(queue_url, queue_env) == {"completed": 50}


async def test_finished_jobs_are_trimmed_by_age(queue_url: str, queue_env: str) -> None:
    """Q12"""
    seen = Seen()
    async with Producer.open(queue_url, queue_env) as producer:
        await producer.send([make_job(1), make_job(2)])
        async with working(queue_url, queue_env, seen):
            await seen.has([make_job(1), make_job(2)])
        await producer.trim()
        assert await counts(queue_url, queue_env) == {"completed": 2}
        await make_old(queue_url, queue_env, make_job(1), KEEP_COMPLETED)
        await producer.trim()
        assert await counts(queue_url, queue_env) == {"completed": 1}


async def make_old(url: str, env: str, finished: Job, keep: Keep) -> None:
    finished_ms = int((time.time() - keep.age_s - 1) * 1000)
    if url.startswith("redis"):
        key = f"{redis_prefix(env)}:{finished.queue}"
        async with redis_client.from_url(url) as client:
            await client.zadd(f"{key}:completed", {finished.job_id: finished_ms})
            await client.hset(f"{key}:{finished.job_id}", "finishedOn", str(finished_ms))
        return
    async with await psycopg.AsyncConnection.connect(url) as connection:
        statement = sql.SQL("UPDATE {} SET finished_at_ms = %s WHERE id = %s")
        table = sql.Identifier(postgres_schema(env), "job")
        await connection.execute(statement.format(table), (finished_ms, finished.job_id))


async def test_another_environment_is_not_touched(queue_url: str, queue_env: str) -> None:
    """Q11: not even one whose name has ours as its prefix."""
    other, seen = f"{queue_env[:20]}-b", Seen()
    mine = queue_env[:20]
    async with (
        Producer.open(queue_url, other) as theirs,
        Producer.open(queue_url, mine) as producer,
    ):
        await theirs.send([make_job(1), make_job(2, Task.ANALYZE), make_job(3, Task.EVALUATE)])
        before = await held_by(queue_url, other)
        assert before
        await producer.send([make_job(1), make_job(5, Task.ANALYZE)])
        async with working(queue_url, mine, seen, slots=2):
            await seen.has([make_job(1), make_job(5, Task.ANALYZE)])
        await producer.trim()
        await producer.remove(make_job(2, Task.ANALYZE))
        assert await held_by(queue_url, other) == before
    assert len(seen.ids) == 2


async def held_by(url: str, env: str) -> dict[str, object]:
    """Everything in the store that belongs to an environment."""
    if url.startswith("redis"):
        async with redis_client.from_url(url) as client:
            keys = [key async for key in client.scan_iter(f"{redis_prefix(env)}:*")]
            return {key.decode(): await client.dump(key) for key in keys}
    held: dict[str, object] = {}
    async with await psycopg.AsyncConnection.connect(url) as connection:
        for table in ("job", "meta", "event", "rate_limit", "dedup"):
            name = sql.Identifier(postgres_schema(env), table)
            rows = await connection.execute(sql.SQL("SELECT * FROM {}").format(name))
            held[table] = [str(row) for row in await rows.fetchall()]
    return held


@pytest.mark.parametrize("env", ["", "Prod", "a:b", "a$b", "-a", "ä", "a" * 41, 'a"b', "a b"])
async def test_an_invalid_environment_name_is_refused(queue_url: str, env: str) -> None:
    """Q11"""
    with pytest.raises(Refused, match="environment"):
        async with Producer.open(queue_url, env):
            pass


@pytest.mark.parametrize(
    "url",
    [
        "amqp://user:secret@host/",
        "secret",
        "redis://:secret@localhost:notaport/0",
        "redis://:secret@localhost/0?unheard_of=1",
        "postgresql://user:secret@localhost/db?unheard_of=1",
    ],
)
async def test_an_invalid_url_is_refused_without_revealing_its_password(url: str) -> None:
    with pytest.raises(Refused) as refused:
        async with Producer.open(url, "test"):
            pass
    if "@" in url:
        assert "secret" not in str(refused.value)
