"""The consumer takes and finishes jobs, on both stores."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence

import pytest

from deemster.domain.errors import Unavailable
from deemster.domain.job import Job, QueueName, Task
from deemster.pipeline.queue.consumer import Consumer
from deemster.pipeline.queue.fetcher import DeliveredJob, Done, RetryLater
from deemster.pipeline.queue.producer import Producer
from deemster.pipeline.queue.topology import ConsumerTimes
from tests.pipeline.queue.stores import (
    Seen,
    bullmq_queue,
    counts,
    for_all,
    make_job,
    until_counts,
    working,
)
from tests.waiting import PATIENCE_S, until

RETRY_S = 2.0
"""Long enough for the next job to start, on a busy machine too."""
DEAF = ConsumerTimes(poll_s=600, lock_s=15, stalled_s=600)
"""Polls so rarely that only a wake-up makes it look."""


async def test_a_job_arrives_as_it_was_sent(queue_url: str, queue_env: str) -> None:
    got = []

    async def handler(delivery: DeliveredJob) -> Done:
        got.append(delivery.job)
        return Done()

    sent = [
        make_job(1, priority=7, dispatch=3),
        make_job(2, Task.ANALYZE),
        make_job(3, Task.EVALUATE),
    ]
    async with (
        Producer.open(queue_url, queue_env) as producer,
        working(queue_url, queue_env, handler),
    ):
        await producer.send(sent)
        await until(lambda: len(got) == len(sent))
    assert set(got) == set(sent)


async def test_an_idle_consumer_is_woken_without_polling(
    queue_url: str, queue_env: str
) -> None:
    seen = Seen()
    async with (
        Producer.open(queue_url, queue_env) as producer,
        working(queue_url, queue_env, seen, times=DEAF) as consumer,
    ):
        for number in range(5):
            await until(consumer._wake_signal.wanted.is_set)
            await producer.send([make_job(number)])
            await seen.has([make_job(number)])


async def test_a_paused_consumer_takes_no_job_and_no_wake_up_of_another(
    queue_url: str, queue_env: str
) -> None:
    """Q14: until it is resumed; it finishes its current job."""
    first, second = Seen(held=True), Seen()
    async with (
        Producer.open(queue_url, queue_env) as producer,
        working(queue_url, queue_env, first, times=DEAF, slots=2) as held,
        asyncio.TaskGroup() as group,
    ):
        await producer.send([make_job(0)])
        await first.has([make_job(0)])
        await until(
            held._wake_signal.wanted.is_set
        )  # a look that is under way may still take one
        held.pause()
        await until(lambda: held.is_paused and not held._wake_signal.wanted.is_set())
        serving = group.create_task(
            serve(queue_url, queue_env, second, [make_job(1), make_job(2)])
        )
        await producer.send([make_job(1)])
        await second.has([make_job(1)])
        await producer.send([make_job(2)])
        await second.has([make_job(2)])
        await serving  # or it might take the last job, too
        first.gate.set()
        await until(lambda: first.finished == first.ids == [make_job(0).job_id])
        await producer.send([make_job(3)])
        held.resume()
        await first.has([make_job(3)])
    assert first.ids == [make_job(0).job_id, make_job(3).job_id]


async def serve(url: str, env: str, seen: Seen, wanted: Sequence[Job]) -> None:
    """Runs until it has these jobs, by wake-ups alone."""
    async with working(url, env, seen, times=DEAF):
        await seen.has(wanted)


async def test_a_paused_consumer_can_be_drained(queue_url: str, queue_env: str) -> None:
    """Q14"""
    seen = Seen()
    async with (
        Producer.open(queue_url, queue_env) as producer,
        working(queue_url, queue_env, seen) as consumer,
    ):
        await until(consumer._wake_signal.wanted.is_set)
        consumer.pause()
        await until(lambda: not consumer._wake_signal.wanted.is_set())
        await producer.send([make_job(1)])
    assert seen.ids == []
    assert await counts(queue_url, queue_env) == {"prioritized": 1}


async def test_every_idle_consumer_is_woken_while_there_is_work(
    queue_url: str, queue_env: str
) -> None:
    first, second = Seen(held=True), Seen(held=True)
    async with (
        Producer.open(queue_url, queue_env) as producer,
        working(queue_url, queue_env, first, times=DEAF),
        working(queue_url, queue_env, second, times=DEAF),
    ):
        await producer.send([make_job(1), make_job(2)])
        await until(lambda: first.busy == second.busy == 1)
        first.gate.set()
        second.gate.set()


SHARING = (Task.EVALUATE, Task.RUN, Task.ANALYZE)
"""Tasks whose queues share slots; executions have slots of their own."""


async def test_free_slots_are_shared_by_weight(queue_url: str, queue_env: str) -> None:
    """Q8: 6 to 3 to 1, while all of them have work."""
    sent = [make_job(number, task) for task in SHARING for number in range(30)]
    started: list[Task] = []

    async def handler(delivery: DeliveredJob) -> Done:
        started.append(delivery.job.task)
        return Done()

    async with Producer.open(queue_url, queue_env) as producer:
        await producer.send(sent)
        async with working(queue_url, queue_env, handler):
            await until(lambda: len(started) == len(sent))
    for turns in (10, 20, 40):
        shares = Counter(started[:turns])
        assert shares[Task.EVALUATE] * 10 == turns * 6
        assert shares[Task.RUN] * 10 == turns * 3
        assert shares[Task.ANALYZE] * 10 == turns * 1


async def test_strict_priority_empties_the_heavier_queue_first(
    queue_url: str, queue_env: str
) -> None:
    """Q8"""
    started: list[Task] = []

    async def handler(delivery: DeliveredJob) -> Done:
        started.append(delivery.job.task)
        return Done()

    async with Producer.open(queue_url, queue_env) as producer:
        await producer.send([make_job(number, task) for task in SHARING for number in range(5)])
        async with working(queue_url, queue_env, handler, strict=True):
            await until(lambda: len(started) == 15)
    assert started == [task for task in SHARING for _ in range(5)]


async def test_a_single_queue_gets_all_slots_and_never_more(
    queue_url: str, queue_env: str
) -> None:
    """Q8, Q9"""
    seen = Seen(held=True)
    sent = [make_job(number, Task.ANALYZE) for number in range(40)]
    async with (
        Producer.open(queue_url, queue_env) as producer,
        working(queue_url, queue_env, seen, slots=4) as consumer,
    ):
        await producer.send(sent)
        await until(lambda: seen.busy == 4)
        assert consumer.busy == 4
        assert (await producer.depths())[QueueName.LOW].active == 4
        seen.gate.set()
        await seen.has(sent)
    assert seen.busiest == 4
    assert len(seen.ids) == len(sent)


async def test_two_consumers_share_the_work_and_no_job_is_done_twice(
    queue_url: str, queue_env: str
) -> None:
    first, second = Seen(held=True), Seen(held=True)
    sent = [make_job(number) for number in range(60)]
    async with (
        Producer.open(queue_url, queue_env) as producer,
        working(queue_url, queue_env, first, slots=2),
        working(queue_url, queue_env, second, slots=2),
    ):
        await producer.send(sent)
        await until(lambda: first.busy == second.busy == 2)
        first.gate.set()
        second.gate.set()
        await until(lambda: len(first.ids) + len(second.ids) >= len(sent))
    assert sorted(first.ids + second.ids) == sorted(each.job_id for each in sent)


async def test_a_delayed_job_comes_again_and_lets_others_pass(
    queue_url: str, queue_env: str
) -> None:
    """Q9"""
    starts: dict[str, list[float]] = {}

    async def handler(delivery: DeliveredJob) -> Done | RetryLater:
        times = starts.setdefault(delivery.job.job_id, [])
        times.append(time.monotonic())
        first = delivery.job == make_job(1) and len(times) == 1
        return RetryLater(RETRY_S) if first else Done()

    pace = ConsumerTimes(poll_s=600, stalled_s=600)
    async with (
        Producer.open(queue_url, queue_env) as producer,
        working(queue_url, queue_env, handler, times=pace),
    ):
        await producer.send([make_job(1), make_job(2)])
        await until(lambda: make_job(2).job_id in starts)
        present = await producer.present([make_job(1)])
        assert present == {make_job(1).job_id}
        await until_counts(queue_url, queue_env, {"completed": 2})
    first, again = starts[make_job(1).job_id]
    assert again - first > 0.9 * RETRY_S
    assert first < starts[make_job(2).job_id][0] < again
    async with bullmq_queue(queue_url, queue_env, QueueName.DEFAULT) as queue:
        assert (await queue.getJob(make_job(1).job_id)).attemptsMade == 1


async def test_a_drained_consumer_finishes_what_it_has_and_takes_no_more(
    queue_url: str, queue_env: str
) -> None:
    """Q14"""
    seen = Seen(held=True)
    async with Producer.open(queue_url, queue_env) as producer:
        await producer.send([make_job(1), make_job(2)])
        async with working(queue_url, queue_env, seen) as consumer:
            await seen.has([make_job(1)])
            consumer.drain()
            seen.gate.set()
        assert seen.finished == [make_job(1).job_id]
    assert await counts(queue_url, queue_env) == {"completed": 1, "prioritized": 1}


async def test_a_stopped_consumer_returns_its_jobs(queue_url: str, queue_env: str) -> None:
    """Q14"""
    seen, after = Seen(held=True), Seen()
    sent = [make_job(1), make_job(2), make_job(3)]
    async with Producer.open(queue_url, queue_env) as producer:
        await producer.send(sent)
        async with working(queue_url, queue_env, seen, slots=2) as consumer:
            await until(lambda: seen.busy == 2)
            await consumer.stop()
            assert seen.busy == 0
        assert seen.finished == []
        assert await counts(queue_url, queue_env) == {"prioritized": 3}
        async with working(queue_url, queue_env, after, times=DEAF):
            await after.has(sent)


async def test_a_cancelled_consumer_returns_its_jobs(queue_url: str, queue_env: str) -> None:
    seen = Seen(held=True)
    async with (
        Producer.open(queue_url, queue_env) as producer,
        Consumer.open(queue_url, queue_env, for_all(seen), slots=2, name="x") as consumer,
        asyncio.TaskGroup() as group,
    ):
        await producer.send([make_job(1), make_job(2)])
        running = group.create_task(consumer.run())
        await until(lambda: seen.busy == 2)
        running.cancel()
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.wait([running])
        assert running.cancelled()
        assert await counts(queue_url, queue_env) == {"prioritized": 2}


async def test_stopping_an_idle_consumer_ends_it(queue_url: str, queue_env: str) -> None:
    async with working(queue_url, queue_env, Seen(), slots=3, times=DEAF) as consumer:
        await consumer.stop()


class SecretlyBroken(Unavailable):
    code = "secretly_broken"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [(SecretlyBroken("token=hunter2"), "secretly_broken"), (KeyError("hunter2"), "KeyError")],
)
async def test_a_failing_handler_fails_only_its_job_and_reveals_no_secret(
    queue_url: str, queue_env: str, fault: Exception, reason: str
) -> None:
    """Q10"""
    seen = Seen()

    async def handler(delivery: DeliveredJob) -> Done:
        if delivery.job == make_job(1):
            raise fault
        return await seen(delivery)

    async with (
        Producer.open(queue_url, queue_env) as producer,
        working(queue_url, queue_env, handler),
        bullmq_queue(queue_url, queue_env, QueueName.DEFAULT) as queue,
    ):
        await producer.send([make_job(1), make_job(2)])
        await until_counts(queue_url, queue_env, {"failed": 1, "completed": 1})
        job = await queue.getJob(make_job(1).job_id)
    assert job.failedReason == reason
    assert "hunter2" not in repr(vars(job))
    assert seen.ids == [make_job(2).job_id]


class Starts:
    """A handler that notes when it was called."""

    def __init__(self) -> None:
        self.at: list[float] = []

    async def __call__(self, delivery: DeliveredJob) -> Done:
        self.at.append(time.time())
        return Done()


async def first_taken_at(url: str, env: str, jobs: int) -> float:
    """When the first of these jobs was taken and counted: handlers may start much later on
    a busy machine.
    """
    async with bullmq_queue(url, env, QueueName.DEFAULT) as queue:
        found = [await queue.getJob(make_job(number).job_id) for number in range(jobs)]
    return float(min(job.processedOn for job in found)) / 1000


async def test_the_rate_limit_holds_for_all_consumers_together(
    queue_url: str, queue_env: str
) -> None:
    """Q9"""
    starts = Starts()
    async with Producer.open(queue_url, queue_env) as producer:
        await producer.send([make_job(number) for number in range(12)])
        async with (
            working(queue_url, queue_env, starts, slots=2, rate_per_s=5),
            working(queue_url, queue_env, starts, slots=2, rate_per_s=5),
        ):
            await until(lambda: len(starts.at) == 12)
    begun_at = await first_taken_at(queue_url, queue_env, 12)
    assert starts.at[5] - begun_at > 0.99
    assert starts.at[10] - begun_at > 1.99


async def test_a_rate_below_one_per_second_holds(queue_url: str, queue_env: str) -> None:
    """Q9"""
    starts = Starts()
    async with Producer.open(queue_url, queue_env) as producer:
        await producer.send([make_job(number) for number in range(2)])
        async with working(queue_url, queue_env, starts, slots=2, rate_per_s=0.5):
            await until(lambda: len(starts.at) == 2)
    assert starts.at[1] - await first_taken_at(queue_url, queue_env, 2) > 1.99


async def test_the_cycle_time_is_measured_only_while_there_is_work(
    queue_url: str, queue_env: str
) -> None:
    """A4"""
    job_s, seen = 0.05, Seen()

    async def handler(delivery: DeliveredJob) -> Done:
        await asyncio.sleep(job_s)
        return await seen(delivery)

    first, *rest = [make_job(number) for number in range(9)]
    async with (
        Producer.open(queue_url, queue_env) as producer,
        working(queue_url, queue_env, handler) as consumer,
    ):
        await until(consumer._wake_signal.wanted.is_set)  # so the slot waits for the first one
        await producer.send([first])
        await until_counts(queue_url, queue_env, {"completed": 1})
        assert consumer.cycle_s is None
        await producer.send(rest)
        await until_counts(queue_url, queue_env, {"completed": 9})
        assert consumer.cycle_s is not None
        assert consumer.cycle_s > job_s
