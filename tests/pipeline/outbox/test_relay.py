"""Q1, Q2, Q6: outbox rows reach the queue, whichever process dies."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from deemster.background_task import background_task
from deemster.domain.errors import LostRace
from deemster.domain.ids import SubmissionId
from deemster.domain.job import TRANSMITTABLE, QueueName
from deemster.domain.lifecycle import State
from deemster.pipeline.outbox import relay as relay_module
from deemster.pipeline.outbox.reconcile import reconcile
from deemster.pipeline.outbox.relay import BATCH, MANY_JOBS, Relay
from deemster.pipeline.queue.engine import QueueDown
from deemster.pipeline.queue.producer import Producer
from deemster.pipeline.verdict.cancel import cancel
from deemster.store import outbox, submissions
from deemster.store.notifications import OUTBOX_CHANNEL, Listener
from deemster.store.pool import Pool, connection, transaction
from tests.builders import make_account, make_problem, make_submission, start_submission
from tests.waiting import until


@pytest.fixture
async def producer(queue_url: str, queue_env: str) -> AsyncIterator[Producer]:
    async with Producer.open(queue_url, queue_env) as opened:
        yield opened


async def waiting_jobs(producer: Producer) -> int:
    return (await producer.depths())[QueueName.DEFAULT].waiting


async def make_many(pool: Pool, count: int) -> list[str]:
    summary, account = await make_problem(pool), await make_account(pool)
    return [await make_submission(pool, account, summary) for _ in range(count)]


async def states(pool: Pool) -> dict[str, int]:
    async with connection(pool) as acquired:
        rows = await acquired.fetch("SELECT state, count(*) FROM submission GROUP BY state")
    return {row["state"]: row["count"] for row in rows}


async def test_rows_become_jobs_and_submissions_are_queued(
    pool: Pool, producer: Producer
) -> None:
    await make_many(pool, 7)
    assert await Relay(pool, producer).send_batch() == 7
    assert await waiting_jobs(producer) == 7
    assert await states(pool) == {State.QUEUED: 7}
    assert await Relay(pool, producer).send_batch() == 0


async def test_a_relay_waits_for_more_jobs_only_while_very_many_are_sent(
    pool: Pool, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay_module, "MANY_S", 3600.0)  # however slow this machine is
    relay = Relay(pool, producer)
    busy = []
    for _ in range(MANY_JOBS):
        await make_many(pool, 1)
        assert await relay.send_batch() == 1
        assert await relay.send_batch() == 0
        busy.append(relay.is_busy)
    assert busy == [False] * (MANY_JOBS - 1) + [True]
    monkeypatch.setattr(relay_module, "MANY_S", 0.0)
    assert not relay.is_busy


async def test_jobs_that_are_gathered_arrive(
    pool: Pool, producer: Producer, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Relay, "is_busy", True)
    async with (
        Listener.open(database_url, OUTBOX_CHANNEL) as listener,
        background_task(Relay(pool, producer).run(listener)),
    ):
        await make_many(pool, 5)
        await until(lambda: all_queued(pool, 5))
    assert await waiting_jobs(producer) == 5


async def all_queued(pool: Pool, count: int) -> bool:
    return await states(pool) == {State.QUEUED: count}


async def test_many_relays_send_each_row_once(pool: Pool, producer: Producer) -> None:
    await make_many(pool, 2 * BATCH + 20)
    counts = await asyncio.gather(*[Relay(pool, producer).send_batch() for _ in range(4)])
    while more := await Relay(pool, producer).send_batch():
        counts.append(more)
    assert sum(counts) == 2 * BATCH + 20
    assert await waiting_jobs(producer) == 2 * BATCH + 20


async def test_a_relay_that_died_after_sending_leaves_no_duplicate(
    pool: Pool, producer: Producer
) -> None:
    """Q1: after its claim expires, another relay sends the same job ids, which is a no-op."""
    await make_many(pool, 3)
    async with transaction(pool) as claiming:
        rows = await outbox.claim(claiming, limit=10, claim_s=1e-6)
    await producer.send([row.job for row in rows])
    assert await states(pool) == {State.PENDING: 3}
    assert await Relay(pool, producer).send_batch() == 3
    assert await waiting_jobs(producer) == 3
    assert await states(pool) == {State.QUEUED: 3}


async def test_a_valid_claim_belongs_to_its_relay(pool: Pool, producer: Producer) -> None:
    await make_many(pool, 2)
    async with transaction(pool) as claiming:
        assert len(await outbox.claim(claiming, limit=1, claim_s=60)) == 1
    assert await Relay(pool, producer).send_batch() == 1


async def test_a_job_may_start_before_the_relay_marks_it_as_sent(
    pool: Pool, producer: Producer
) -> None:
    """Each of the two transitions emits one event."""
    (submission,) = await make_many(pool, 1)
    async with transaction(pool) as claiming:
        sent = await outbox.claim(claiming, limit=10, claim_s=1e-6)
    await producer.send([row.job for row in sent])
    await start_submission(pool, SubmissionId(submission))
    await Relay(pool, producer).send_batch()
    async with connection(pool) as acquired:
        rows = await acquired.fetch("SELECT event FROM work_event ORDER BY id")
    assert [row["event"] for row in rows] == ["submit", "publish", "start"]
    assert submission == sent[0].job.work


async def test_while_the_queue_is_down_nothing_is_lost(pool: Pool, producer: Producer) -> None:
    """Q2: rows wait with growing pauses, and are sent at once when it is back."""
    await make_many(pool, 3)
    async with Producer.open("redis://127.0.0.1:1", "nowhere") as down:
        relay = Relay(pool, down)
        with pytest.raises(QueueDown):
            await relay.send_batch()
    assert await states(pool) == {State.PENDING: 3}
    async with connection(pool) as acquired:
        assert (await outbox.count_unsent(acquired))[0] == 3
        await make_submission(pool)
    relay._producer = producer
    await relay.send_batch()  # the new one goes, and calls the others
    await relay.send_batch()
    assert await waiting_jobs(producer) == 4


async def test_lost_jobs_are_sent_again(pool: Pool, producer: Producer) -> None:
    """Q6: after the queue store was wiped, a new job with a new dispatch number is sent."""
    ids = await make_many(pool, 5)
    relay = Relay(pool, producer)
    await relay.send_batch()
    async with connection(pool) as acquired:
        lost = await submissions.list_possibly_lost(acquired, quiet_s=0, limit=3)
    assert [job.work for job in lost] == ids[:3]
    for job in lost:
        await producer.remove(job)
    assert await reconcile(pool, producer, quiet_s=3600) == 0
    assert await reconcile(pool, producer, quiet_s=0) == 3
    assert await reconcile(pool, producer, quiet_s=0) == 0
    await relay.send_batch()
    assert await waiting_jobs(producer) == 5
    async with connection(pool) as acquired:
        count = await acquired.fetchval(
            "SELECT count(*) FROM work_event WHERE event = 'resend'"
        )
    assert count == 3


async def test_jobs_for_judge_hosts_are_sent_to_workers_after_the_setting_was_changed(
    pool: Pool, producer: Producer, queue_url: str, queue_env: str
) -> None:
    """Q6: no dispatcher runs any more. Of both jobs, one starts."""
    ids = await make_many(pool, 2)
    async with Producer.open(queue_url, queue_env, TRANSMITTABLE) as transmitting:
        await Relay(pool, transmitting).send_batch()
        assert await reconcile(pool, transmitting, quiet_s=0) == 0
        depths = await producer.depths()
        assert depths[QueueName.TRANSMIT].waiting == 2
        assert await reconcile(pool, producer, quiet_s=0) == 2
        await Relay(pool, producer).send_batch()
        assert await waiting_jobs(producer) == 2
        assert await reconcile(pool, producer, quiet_s=0) == 0
        # After a change back, jobs in the queue of local workers are still in use.
        assert await reconcile(pool, transmitting, quiet_s=0) == 0
    for each in ids:
        await start_submission(pool, SubmissionId(each))
        with pytest.raises(LostRace):
            await start_submission(pool, SubmissionId(each))


async def test_a_cancelled_submission_is_not_sent_again(pool: Pool, producer: Producer) -> None:
    (submission,) = await make_many(pool, 1)
    await Relay(pool, producer).send_batch()
    async with connection(pool) as acquired:
        (job,) = await submissions.list_possibly_lost(acquired, quiet_s=0, limit=3)
    await producer.remove(job)
    await cancel(pool, job.work)
    assert await reconcile(pool, producer, quiet_s=0) == 0
    assert submission == job.work
