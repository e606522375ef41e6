"""A consumer makes the next job ready while its slots are busy, on both stores (Q8, Q14)."""

import asyncio
from dataclasses import replace

import pytest

from deemster.pipeline.queue.engine import Engine, LockedJob
from deemster.pipeline.queue.fetcher import DeliveredJob, Done
from deemster.pipeline.queue.producer import Producer
from tests.pipeline.queue.stores import QUICK, counts, make_job, until_counts, working
from tests.waiting import until

AHEAD = replace(QUICK, ahead_s=60.0)
IMPATIENT = replace(QUICK, ahead_s=0.05)


class Steps:
    """A handler that records what is ready, in a slot and recorded, and waits at gates."""

    def __init__(self) -> None:
        self.ready: list[str] = []
        self.in_slot: list[str] = []
        self.most_in_slots = 0
        self.done: list[str] = []
        self.may_leave = asyncio.Event()
        self.may_end = asyncio.Event()
        self.may_end.set()

    async def __call__(self, delivered: DeliveredJob) -> Done:
        job = delivered.job.job_id
        self.ready.append(job)
        async with delivered.in_slot():
            self.in_slot.append(job)
            self.most_in_slots = max(self.most_in_slots, len(self.in_slot))
            await self.may_leave.wait()
            self.in_slot.remove(job)
        await self.may_end.wait()
        self.done.append(job)
        return Done()


async def test_one_job_for_each_slot_is_claimed_ahead(queue_url: str, queue_env: str) -> None:
    """Q8: jobs enter the slots in the order of the queue, and never more than there are."""
    jobs = [make_job(number, priority=number) for number in range(1, 8)]
    ids = [job.job_id for job in jobs]
    steps = Steps()
    async with Producer.open(queue_url, queue_env) as producer:
        await producer.send(jobs)
        async with working(queue_url, queue_env, steps, slots=2, times=AHEAD) as consumer:
            await until(lambda: len(steps.ready) == 4)
            await until_counts(queue_url, queue_env, {"active": 4, "prioritized": 3})
            assert (set(steps.ready), set(steps.in_slot)) == (set(ids[:4]), set(ids[:2]))
            assert (consumer.busy, consumer.is_full) == (2, True)
            steps.may_leave.set()
            await until(lambda: len(steps.done) == 7)
    assert steps.most_in_slots == 2


async def test_one_more_job_is_claimed_ahead_for_each_compile_slot(
    queue_url: str, queue_env: str
) -> None:
    steps = Steps()
    async with Producer.open(queue_url, queue_env) as producer:
        await producer.send([make_job(number) for number in range(1, 7)])
        async with working(queue_url, queue_env, steps, times=AHEAD, compile_slots=2):
            await until(lambda: len(steps.ready) == 4)
            await until_counts(queue_url, queue_env, {"active": 4, "prioritized": 2})
            steps.may_leave.set()
            await until(lambda: len(steps.done) == 6)
    assert steps.most_in_slots == 1


async def test_a_slot_is_free_while_results_are_recorded(
    queue_url: str, queue_env: str
) -> None:
    steps = Steps()
    steps.may_end.clear()
    steps.may_leave.set()
    async with (
        Producer.open(queue_url, queue_env) as producer,
        working(queue_url, queue_env, steps, times=AHEAD) as consumer,
    ):
        await producer.send([make_job(number) for number in range(1, 6)])
        await until(lambda: len(steps.ready) == 3 and not steps.in_slot)
        assert (steps.done, consumer.busy) == ([], 0)
        steps.may_end.set()
        await until(lambda: len(steps.done) == 5)


async def test_q14_drain_gives_back_what_was_claimed_ahead(
    queue_url: str, queue_env: str
) -> None:
    """Q14: what is in a slot finishes; the other jobs wait in the queue again."""
    steps = Steps()
    async with (
        Producer.open(queue_url, queue_env) as producer,
        working(queue_url, queue_env, steps, times=AHEAD) as consumer,
    ):
        await producer.send([make_job(1), make_job(2), make_job(3)])
        await until(lambda: len(steps.ready) == 2 and len(steps.in_slot) == 1)
        consumer.drain()
        await until_counts(queue_url, queue_env, {"active": 1, "prioritized": 2})
        steps.may_leave.set()
    assert len(steps.done) == 1
    await until_counts(queue_url, queue_env, {"completed": 1, "prioritized": 2})


async def test_q14_pause_gives_back_what_was_claimed_ahead(
    queue_url: str, queue_env: str
) -> None:
    steps = Steps()
    async with (
        Producer.open(queue_url, queue_env) as producer,
        working(queue_url, queue_env, steps, times=AHEAD) as consumer,
    ):
        await producer.send([make_job(1), make_job(2)])
        await until(lambda: len(steps.ready) == 2 and len(steps.in_slot) == 1)
        consumer.pause()
        await until_counts(queue_url, queue_env, {"active": 1, "prioritized": 1})
        steps.may_leave.set()
        await until(lambda: len(steps.done) == 1)
        consumer.resume()
        await until(lambda: len(steps.done) == 2)


async def test_a_job_that_waits_long_for_a_slot_goes_to_another_worker(
    queue_url: str, queue_env: str
) -> None:
    """Q8: the worker with the long job claims nothing more until its slot is free."""
    busy, idle = Steps(), Steps()
    idle.may_leave.set()
    async with (
        Producer.open(queue_url, queue_env) as producer,
        working(queue_url, queue_env, busy, times=IMPATIENT),
    ):
        await producer.send([make_job(1), make_job(2)])
        await until(lambda: len(busy.ready) == 2)
        await until_counts(queue_url, queue_env, {"active": 1, "prioritized": 1})
        async with working(queue_url, queue_env, idle, times=IMPATIENT):
            await until(lambda: len(idle.done) == 1)
        busy.may_leave.set()
        await until(lambda: len(busy.done) == 1)


async def test_q8_jobs_that_go_back_keep_their_order(queue_url: str, queue_env: str) -> None:
    """Q8: also if several were claimed ahead and go back one after another, again and again."""
    jobs = [make_job(number) for number in range(1, 8)]
    entered: list[str] = []
    leaving = asyncio.Semaphore(0)

    async def hold_slot(delivered: DeliveredJob) -> Done:
        async with delivered.in_slot():
            entered.append(delivered.job.job_id)
            await leaving.acquire()
        return Done()

    async with Producer.open(queue_url, queue_env) as producer:
        await producer.send(jobs)
        async with working(
            queue_url, queue_env, hold_slot, times=IMPATIENT, compile_slots=2
        ) as consumer:
            for number in range(1, len(jobs) + 1):
                await until(lambda: consumer.busy == 1)
                others = {"completed": number - 1, "prioritized": len(jobs) - number}
                present = {state: count for state, count in others.items() if count}
                await until_counts(queue_url, queue_env, {"active": 1} | present)
                leaving.release()
    assert entered == [job.job_id for job in jobs]


async def test_q14_drain_waits_for_no_job_that_is_made_ready(
    queue_url: str, queue_env: str
) -> None:
    """Q14: a program may be compiled for a minute, only to be compiled elsewhere again."""
    begun: list[str] = []
    in_slot, may_leave = asyncio.Event(), asyncio.Event()

    async def make_ready(delivered: DeliveredJob) -> Done:
        begun.append(delivered.job.job_id)
        if len(begun) > 1:
            await asyncio.Event().wait()
        async with delivered.in_slot():
            in_slot.set()
            await may_leave.wait()
        return Done()

    async with (
        Producer.open(queue_url, queue_env) as producer,
        working(queue_url, queue_env, make_ready, times=AHEAD) as consumer,
    ):
        await producer.send([make_job(1)])
        await in_slot.wait()
        await producer.send([make_job(2)])
        await until(lambda: len(begun) == 2)
        consumer.drain()
        await until_counts(queue_url, queue_env, {"active": 1, "prioritized": 1})
        may_leave.set()
    await until_counts(queue_url, queue_env, {"completed": 1, "prioritized": 1})


async def set_soon(event: asyncio.Event) -> None:
    """After the tasks that were created before."""
    event.set()


async def test_q14_a_second_signal_cancels_no_job_that_is_going_back(
    queue_url: str, queue_env: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Q14: it drains and stops once more, while the store is slow."""
    begun, returning, may_return = asyncio.Event(), asyncio.Event(), asyncio.Event()
    return_job = Engine.return_job

    async def make_ready(_: DeliveredJob) -> Done:
        begun.set()
        await asyncio.Event().wait()
        return Done()

    async def return_slowly(engine: Engine, locked: LockedJob) -> None:
        returning.set()
        await may_return.wait()
        await return_job(engine, locked)

    monkeypatch.setattr(Engine, "return_job", return_slowly)
    async with (
        Producer.open(queue_url, queue_env) as producer,
        working(queue_url, queue_env, make_ready, times=AHEAD) as consumer,
    ):
        await producer.send([make_job(1)])
        await begun.wait()
        consumer.drain()
        await returning.wait()
        consumer.drain()
        async with asyncio.TaskGroup() as group:
            group.create_task(consumer.stop())
            group.create_task(set_soon(may_return))
    assert await counts(queue_url, queue_env) == {"prioritized": 1}
