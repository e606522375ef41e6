"""`/v1/admin/queues` on both queue stores: depths, load levels, job ids (D4, A8)."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from deemster.api.app import create_app
from deemster.domain.job import Job, QueueName, Task
from deemster.pipeline.queue.producer import Producer
from deemster.store import workers
from deemster.store.pool import Pool, connection
from tests.api.conftest import Api, MakeDependencies, make_worker, running
from tests.builders import make_submission, queue_submission, start_submission
from tests.pipeline.queue.stores import Seen, make_job, until_counts, working

PATH = "/v1/admin/queues"


@pytest.fixture
async def producer(queue_url: str, queue_env: str) -> AsyncIterator[Producer]:
    """Runs on both queue stores; other tests of the API use one."""
    async with Producer.open(queue_url, queue_env) as opened:
        yield opened


def jobs(first: int, count: int, task: Task = Task.RUN) -> list[Job]:
    return [make_job(number, task) for number in range(first, first + count)]


async def look(admin: Api) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    answer = await admin.get(PATH)
    assert answer.status_code == 200, answer.text
    result = answer.json()
    return result, {queue["name"]: queue for queue in result["queues"]}


async def test_empty_queues_are_healthy(admin: Api) -> None:
    """D4"""
    result, queues = await look(admin)
    assert list(queues) == [*QueueName]
    assert (result["signal"], result["reachable"]) == ("healthy", True)
    assert result["submissions"] == {
        "pending": 0,
        "queued": 0,
        "running": 0,
        "oldest_wait_s": None,
        "drained_per_s": None,
        "estimated_wait_s": None,
    }
    for queue in queues.values():
        assert (queue["depth"], queue["signal"], queue["alarm"]) == (0, "healthy", False)


async def test_d4_each_queue_shows_depth_load_level_and_alarm(
    admin: Api, producer: Producer
) -> None:
    await producer.send(jobs(0, 301))
    await producer.send(jobs(1000, 51, Task.EVALUATE))
    await producer.send(jobs(2000, 501, Task.ANALYZE))
    result, queues = await look(admin)
    seen = {
        name: (each["depth"], each["signal"], each["alarm"]) for name, each in queues.items()
    }
    assert seen == {
        "critical": (51, "busy", False),
        "default": (301, "busy", True),
        "interactive": (0, "healthy", False),
        "low": (501, "scale_workers", True),
        "transmit": (0, "healthy", False),
        "receive": (0, "healthy", False),
    }
    assert result["signal"] == "scale_workers"


async def test_active_jobs_are_counted_apart(
    admin: Api, producer: Producer, queue_url: str, queue_env: str
) -> None:
    seen = Seen(held=True)
    await producer.send(jobs(0, 3))
    async with working(queue_url, queue_env, seen):
        await until_counts(queue_url, queue_env, {"prioritized": 2, "active": 1})
        _, queues = await look(admin)
        result = queues["default"]
        assert (result["waiting"], result["active"], result["delayed"], result["failed"]) == (
            2,
            1,
            0,
            0,
        )
        page = (await admin.get(f"{PATH}/default/jobs", params={"state": "active"})).json()
        assert page == {"items": seen.ids, "next_cursor": None}
        seen.gate.set()


async def test_the_database_counts_submissions_and_estimates_the_wait(
    admin: Api, pool: Pool
) -> None:
    """A4: from the measured speed of the workers."""
    for _ in range(3):
        await make_submission(pool)
    for _ in range(5):
        await queue_submission(pool, await make_submission(pool))
    begun = await make_submission(pool)
    await queue_submission(pool, begun)
    await start_submission(pool, begun)
    worker = await make_worker(pool, slots=2)
    async with connection(pool) as acquired:
        await workers.heartbeat(acquired, worker, busy=0, cycle_s=0.5)
    result, _ = await look(admin)
    line = result["submissions"]
    assert (line["pending"], line["queued"], line["running"]) == (3, 5, 1)
    assert line["oldest_wait_s"] > 0
    assert (line["drained_per_s"], line["estimated_wait_s"]) == (4.0, 2.0)


async def test_the_load_level_counts_submissions_that_are_not_in_a_queue(
    admin: Api, pool: Pool
) -> None:
    """D4: a queue that was wiped is not healthy."""
    for _ in range(51):
        await make_submission(pool)
    result, queues = await look(admin)
    assert queues["default"]["depth"] == 0
    assert result["signal"] == "busy"


async def test_a8_job_ids_are_listed_in_pages_in_queue_order(
    admin: Api, producer: Producer
) -> None:
    """Q10: only ids."""
    sent = [make_job(number, priority=100 - number) for number in range(7)]
    await producer.send(sent)
    found: list[str] = []
    query: dict[str, Any] = {"limit": 3}
    while True:
        page = (await admin.get(f"{PATH}/default/jobs", params=query)).json()
        assert len(page["items"]) <= 3
        found += page["items"]
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]
    assert found == [each.job_id for each in reversed(sent)]


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        ("other", {}, 404),
        ("default%00", {}, 404),
        ("default", {"state": "gone"}, 422),
        ("default", {"cursor": "bm8"}, 422),
        ("default", {"cursor": "OTk5OTk5OTk5OTk5OTk5OTk5OTk5"}, 422),
        ("default", {"cursor": "OTk5OTk5OTk5OTk5OTk5OTk5"}, 200),
        ("default", {"limit": "0"}, 422),
        ("default", {"what": "x"}, 422),
    ],
)
async def test_an_invalid_query_is_refused(
    admin: Api, path: str, query: dict[str, str], status: int
) -> None:
    """A6"""
    answer = await admin.get(f"{PATH}/{path}/jobs", params=query)
    assert answer.status_code == status, answer.text


async def test_with_the_queue_store_down_the_database_counts_are_shown(
    make_dependencies: MakeDependencies, admin: Api, pool: Pool, queue_env: str
) -> None:
    await make_submission(pool)
    async with Producer.open("redis://127.0.0.1:1/0", queue_env) as deaf:
        app = create_app(replace(make_dependencies(), queues=deaf))
        async with running(app) as client:
            there = Api(client, admin.user)
            result, queues = await look(there)
            assert (result["reachable"], result["submissions"]["pending"]) == (False, 1)
            assert (queues["default"]["depth"], queues["default"]["signal"]) == (None, None)
            answer = await there.get(f"{PATH}/default/jobs")
            assert answer.status_code == 503
            assert "127.0.0.1" not in answer.text


async def test_only_admins_see_queues(ada: Api) -> None:
    """O6"""
    assert (await ada.get(PATH)).status_code == 403
    assert (await ada.get(f"{PATH}/default/jobs")).status_code == 403
