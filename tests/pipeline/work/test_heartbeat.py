"""The worker's row is kept up to date."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from deemster.domain.ids import WORKER, WorkerId, new_id
from deemster.pipeline.queue.consumer import Consumer
from deemster.pipeline.queue.fetcher import DeliveredJob, Done
from deemster.pipeline.verdict.cancel import cancel
from deemster.pipeline.work.consumers import Consumers
from deemster.pipeline.work.heartbeat import (
    BOOT_ID,
    Heartbeat,
    RunningJobs,
    host_name,
    is_alive,
    process_name,
)
from deemster.store import workers
from deemster.store.pool import Pool, connection
from deemster.store.workers import WorkerView
from tests.builders import make_submission, start_submission
from tests.named_process import NO_UTF8, process_named
from tests.pipeline.queue.stores import for_all


@pytest.fixture
async def consumer(redis_url: str, queue_env: str) -> AsyncIterator[Consumer]:
    async def do_nothing(_: DeliveredJob) -> Done:
        return Done()

    async with Consumer.open(
        redis_url, queue_env, for_all(do_nothing), slots=1, name="test"
    ) as opened:
        yield opened


async def only_one(pool: Pool) -> WorkerView:
    async with connection(pool) as acquired:
        [found] = await workers.list_alive(acquired)
    return found


async def test_a_worker_reports_its_toolchain_versions_and_their_changes(
    pool: Pool, consumer: Consumer
) -> None:
    """J6: also after the worker had to register again."""
    versions = {"c": "GCC 12.2.0", "python3": "Python 3.11.2"}
    heartbeat = Heartbeat(pool, 1, versions)
    consumers = Consumers(consumer, [])
    await heartbeat.beat(consumers)
    assert (await only_one(pool)).versions == versions
    versions["c"] = "GCC 12.2.1"
    await heartbeat.beat(consumers)
    assert (await only_one(pool)).versions == versions
    del versions["python3"]
    await heartbeat.beat(consumers)
    found = await only_one(pool)
    assert (found.languages, found.versions) == (["c"], {"c": "GCC 12.2.1"})
    async with connection(pool) as acquired:
        await workers.mark_gone(acquired, [found.id])
    versions["c"] = "GCC 13.1.0"
    for _ in range(
        2
    ):  # the first beat finds that it counted as dead, the second registers again
        await heartbeat.beat(consumers)
    found = await only_one(pool)
    assert (found.languages, found.versions) == (["c"], {"c": "GCC 13.1.0"})


def test_a_pid_that_a_process_with_an_odd_name_has_now_is_no_worker() -> None:
    """Q6: the rescue asks whether a worker's process is alive, and its pid may be another's."""
    with process_named(NO_UTF8) as pid:
        name = process_name(pid)
        assert name is not None
        assert is_alive(name)
        assert not is_alive(f"{name}0")
    assert not is_alive(name)


async def test_q6_a_worker_taken_for_dead_abandons_only_what_it_has_started(
    pool: Pool, consumer: Consumer
) -> None:
    """Q6: a start that is being committed decides for itself whether it comes too late."""
    started = await start_submission(pool, await make_submission(pool))
    starting = await start_submission(pool, await make_submission(pool))
    heartbeat = Heartbeat(pool, 1, {})
    runs, consumers = heartbeat.running_jobs, Consumers(consumer, [])
    await heartbeat.beat(consumers)
    async with connection(pool) as acquired:
        await workers.mark_gone(acquired, [runs.worker])
    with runs.tracked(started, 1) as one, runs.tracked(starting, 1) as other:
        one.is_started = True
        await heartbeat.beat(consumers)
        assert (one.lost, other.lost) == (True, False)


async def test_q6_a_new_run_of_a_submission_ends_the_older_one_when_it_has_started(
    pool: Pool,
) -> None:
    """Q6: the worker was silent, and got its own rescued job before it noticed that."""
    runs = RunningJobs(pool, WorkerId(new_id(WORKER)))
    details = await start_submission(pool, await make_submission(pool), runs.worker)
    with runs.tracked(replace(details, attempt=details.attempt + 1), 1) as newer:
        with runs.tracked(details, 1) as older:
            runs.mark_started(older)
            assert (older.lost, newer.lost) == (False, False)
            runs.mark_started(newer)
            assert (older.lost, newer.lost) == (True, False)
        assert len(runs) == 1
        runs.abandon(details.id)
        assert newer.lost


async def test_q1_a_job_delivered_twice_does_not_disturb_the_run_that_has_started(
    pool: Pool,
) -> None:
    """Q1, Q5: the second start fails; the first run keeps its lease, and can be ended."""
    runs = RunningJobs(pool, WorkerId(new_id(WORKER)))
    details = await start_submission(pool, await make_submission(pool), runs.worker)
    with runs.tracked(details, 1) as first:
        runs.mark_started(first)
        with runs.tracked(details, 1) as second:
            await runs.beat()
            assert (first.lost, second.lost) == (False, False)
        await cancel(pool, details.id)
        await runs.beat()
        assert first.lost


async def test_q6_a_worker_of_another_boot_counts_as_dead_only_if_it_is_silent(
    pool: Pool, consumer: Consumer
) -> None:
    """Q6: it may run on another machine with the same host name, as clones of one have it."""
    boot = BOOT_ID.read_text().strip()
    processes = {
        "wrk_clone": "other-boot:1:1",
        "wrk_before_reboot": "earlier-boot:1:1",
        "wrk_ended": f"{boot}:1:never",
        "wrk_unknown": "",
    }
    async with connection(pool) as acquired:
        for worker, process in processes.items():
            await workers.register(
                acquired,
                WorkerId(worker),
                host=host_name(),
                process=process,
                slots=1,
                versions={},
            )
        await acquired.execute(
            "UPDATE worker SET seen_at = now() - interval '1 minute' WHERE id = $1",
            "wrk_before_reboot",
        )
    heartbeat = Heartbeat(pool, 1, {})
    await heartbeat.beat(Consumers(consumer, []))
    async with connection(pool) as acquired:
        present = await workers.list_on_host(acquired, host_name())
    assert set(present) == {"wrk_clone", "wrk_unknown", heartbeat.running_jobs.worker}
