"""M2, M3: jobs that wait for a judge host do not block the others of their queue."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from deemster.domain.ids import SubmissionId
from deemster.domain.job import Job, QueueName, Task
from deemster.domain.judge_host import JudgeHostId, JudgeOn
from deemster.pipeline.queue.consumer import Consumer
from deemster.pipeline.queue.fetcher import DeliveredJob, Done, RetryLater
from deemster.pipeline.queue.producer import Producer
from deemster.pipeline.remote.data_links import DataLinks
from deemster.pipeline.remote.messages import HostTask
from deemster.pipeline.remote.tasks import TaskBuilder
from deemster.pipeline.verdict.cancel import cancel
from deemster.pipeline.work import transmit
from deemster.pipeline.work.transmit import Transmitter
from deemster.store import host_workers, judge_hosts, remote_tasks
from deemster.store.notifications import ROOM_CHANNEL, Listener
from deemster.store.pool import Pool, connection, transaction
from deemster.store.remote_tasks import HostRoom
from tests.builders import make_artifacts, make_problem, make_submission
from tests.pipeline.queue.stores import QUICK
from tests.waiting import until

SLOTS: Final = 4
TRANSMITTED: Final = frozenset({Task.RUN})


async def add_host(pool: Pool, name: str, language: str, slots: int = 1) -> HostRoom:
    async with transaction(pool) as writing:
        host = await judge_hosts.add(writing, name, created_by="test")
        worker = await host_workers.register(
            writing,
            host,
            slots=slots,
            execution_slots=0,
            versions={language: "3"},
            address=None,
        )
        # No heartbeat is due during the test, however long it takes.
        await writing.execute("UPDATE worker SET seen_at = now() + interval '1 hour'")
    assert worker is not None
    return HostRoom(worker, JudgeHostId(host), None, None)


@dataclass(slots=True)
class Dispatching:
    """A transmitter behind a consumer, and the queue from which it gets its jobs."""

    pool: Pool
    producer: Producer
    consumer: Consumer
    delivered: list[str]
    """Ids of jobs, also of those that the queue delivered before."""
    sent: list[Job] = field(default_factory=list)

    async def submit(self, language: str) -> SubmissionId:
        """The queue keeps the order of these calls."""
        summary = await make_problem(self.pool)
        submission = await make_submission(self.pool, summary=summary, language=language)
        job = Job(submission, Task.RUN, 1, 1, 0, summary.id, summary.digest)
        self.sent.append(job)
        await self.producer.send([job])
        return submission

    async def is_started(self, *submissions: SubmissionId) -> bool:
        return set(submissions) <= set(await self.started())

    async def started(self) -> list[str]:
        """In the order in which hosts got them."""
        async with connection(self.pool) as acquired:
            rows = await acquired.fetch("SELECT work_id FROM remote_task ORDER BY number")
        return [row["work_id"] for row in rows]

    async def end_one(self) -> None:
        """A host has reported the oldest of its tasks."""
        async with transaction(self.pool) as writing:
            judge_id = await writing.fetchval(
                "SELECT judge_id FROM remote_task WHERE ended_at IS NULL ORDER BY number"
            )
            assert await remote_tasks.end(writing, judge_id, None)
            await writing.execute("SELECT pg_notify($1, '')", ROOM_CHANNEL)

    async def end_all(self, room: HostRoom) -> None:
        async with transaction(self.pool) as writing:
            for task in await writing.fetch(
                "SELECT judge_id FROM remote_task WHERE ended_at IS NULL AND host_id = $1",
                room.host,
            ):
                assert await remote_tasks.end(writing, task["judge_id"], None)
            await writing.execute("SELECT pg_notify($1, '')", ROOM_CHANNEL)


@asynccontextmanager
async def dispatching(
    pool: Pool, database_url: str, queue_url: str, queue_env: str, directory: Path
) -> AsyncIterator[Dispatching]:
    async def push(_: HostRoom, __: HostTask) -> None:
        raise AssertionError("these hosts fetch their tasks")

    async def send_to_workers(_: Job) -> None:
        raise AssertionError("these jobs are for hosts")

    delivered: list[str] = []

    async def handle(job: DeliveredJob) -> Done | RetryLater:
        delivered.append(job.job.job_id)
        return await transmitter.handle(job)

    handlers = {QueueName.TRANSMIT: handle}
    async with (
        Listener.open(database_url, ROOM_CHANNEL) as listener,
        Producer.open(queue_url, queue_env, TRANSMITTED) as producer,
        Consumer.open(
            queue_url, queue_env, handlers, slots=SLOTS, name="test", times=QUICK
        ) as consumer,
        asyncio.TaskGroup() as group,
    ):
        transmitter = Transmitter(
            pool,
            send_to_workers,
            TaskBuilder(make_artifacts(directory), DataLinks(b"secret")),
            push,
            JudgeOn.HOSTS,
            lease_s=3600,
            caps={},
            wait_for_room=listener.wait,
        )
        running = Dispatching(pool, producer, consumer, delivered)
        group.create_task(consumer.run())
        try:
            yield running
        finally:
            await consumer.stop()


@pytest.mark.parametrize("blocking", [SLOTS, 5 * SLOTS])
async def test_m3_jobs_without_a_host_let_others_pass(
    pool: Pool,
    database_url: str,
    queue_url: str,
    queue_env: str,
    tmp_path: Path,
    blocking: int,
) -> None:
    """Jobs of a language whose only host is gone keep no slot from one that a host can take."""
    await add_host(pool, "one", "c")
    async with dispatching(pool, database_url, queue_url, queue_env, tmp_path) as running:
        waiting = [await running.submit("python3") for _ in range(blocking)]
        await until(lambda: running.consumer.is_full)
        submission = await running.submit("c")
        await until(lambda: running.is_started(submission))
        assert await running.started() == [submission]
        await add_host(pool, "two", "python3", slots=blocking)
        await until(lambda: running.is_started(*waiting))


async def test_m3_a_cancelled_job_that_waits_for_a_host_leaves_its_slot(
    pool: Pool, database_url: str, queue_url: str, queue_env: str, tmp_path: Path
) -> None:
    async with dispatching(pool, database_url, queue_url, queue_env, tmp_path) as running:
        waiting = [await running.submit("python3") for _ in range(SLOTS)]
        await until(lambda: running.consumer.is_full)
        for each in waiting:
            await cancel(pool, each)
        await until(lambda: is_empty(running))
        assert await running.started() == []


async def is_empty(running: Dispatching) -> bool:
    return not await running.producer.present(running.sent)


async def test_q8_jobs_that_wait_for_the_same_host_keep_their_order(
    pool: Pool,
    database_url: str,
    queue_url: str,
    queue_env: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Q8: also when they go back to the queue meanwhile."""
    monkeypatch.setattr(transmit, "WAIT_S", 0.3)
    async with dispatching(pool, database_url, queue_url, queue_env, tmp_path) as running:
        submitted = [await running.submit("c") for _ in range(3 * SLOTS)]
        await until(lambda: len(running.delivered) > 3 * SLOTS)
        await add_host(pool, "one", "c", slots=1)
        for count in range(2, len(submitted) + 1):  # it has one task ahead
            await until(partial(has_started, running, count))
            await running.end_one()
    order = [submitted.index(SubmissionId(each)) for each in await running.started()]
    # Those in slots get the room in the order in which they came into these slots.
    assert all(abs(place - number) < 2 * SLOTS for number, place in enumerate(order)), order


async def test_q8_jobs_that_let_others_pass_keep_their_order_too(
    pool: Pool,
    database_url: str,
    queue_url: str,
    queue_env: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Q8, M3: new jobs do not go before old ones, and those for another host get it at once."""
    monkeypatch.setattr(transmit, "WAIT_S", 0.3)
    monkeypatch.setattr(transmit, "SHORTEST_PAUSE_S", 0.3)
    await add_host(pool, "one", "python3")
    other = await add_host(pool, "two", "c", slots=2)
    async with dispatching(pool, database_url, queue_url, queue_env, tmp_path) as running:
        slow = [await running.submit("python3") for _ in range(6 * SLOTS)]
        async with transaction(pool) as writing:
            await writing.execute("UPDATE work SET submitted_at = now() - interval '1 minute'")
        for count in range(2, 4 * SLOTS):  # it has one task ahead
            quick = await running.submit("c")
            slow.append(await running.submit("python3"))
            await until(partial(running.is_started, quick))
            await until(partial(has_started, running, 2 * count - 3))
            await until(lambda: is_none_delayed(running))
            await running.end_all(other)
            await running.end_one()
    started = [SubmissionId(each) for each in await running.started()]
    order = [slow.index(each) for each in started if each in slow]
    assert len(order) > 3 * SLOTS
    # Old ones that come back from a pause wait for a slot, in which a new one may be.
    assert sum(place >= 6 * SLOTS for place in order) < SLOTS, order


async def is_none_delayed(running: Dispatching) -> bool:
    return not (await running.producer.depths())[QueueName.TRANSMIT].delayed


async def has_started(running: Dispatching, count: int) -> bool:
    return len(await running.started()) >= count
