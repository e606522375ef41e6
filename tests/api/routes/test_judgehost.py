"""`/v1/judgehost`: M4: judge hosts register, send heartbeats, drain and leave."""

import base64

import pytest

from deemster.api.routes import judgehost_tasks
from deemster.domain.execution import ExecutionLimits, ProgramIo
from deemster.domain.ids import SubmissionId, WorkerId, new_id
from deemster.domain.job import Task
from deemster.domain.judge_host import JUDGE, JudgeHostId, JudgeId
from deemster.pipeline.remote.tasks import read_details
from deemster.pipeline.verdict.attempt import Caps
from deemster.store import leases, remote_tasks, workers
from deemster.store.pool import Pool, connection, transaction
from deemster.store.remote_tasks import HostRoom
from tests.api.conftest import Api
from tests.api.host_client import HostClient, add_host
from tests.builders import (
    make_execution,
    make_submission,
    queue_submission,
    start,
    start_submission,
)

HOSTS = "/v1/admin/judge-hosts"


@pytest.fixture
async def host(admin: Api) -> HostClient:
    return await add_host(admin)


async def send_task(
    pool: Pool, host: HostClient, worker: str, *, purpose: str = "run", leased: bool = True
) -> tuple[str, SubmissionId]:
    """Gives a submission to the host; returns the judge id and the submission."""
    submission = await make_submission(pool)
    await queue_submission(pool, submission)
    holder = WorkerId(worker) if leased else None
    details = await start_submission(pool, submission, holder)
    judge = new_id(JUDGE)
    async with connection(pool) as acquired:
        await acquired.execute(
            "INSERT INTO remote_task (judge_id, work_id, attempt, task, purpose, host_id,"
            " worker_id) VALUES ($1, $2, $3, 'submission:run', $4, $5, $6)",
            *(judge, submission, details.attempt, purpose, host.key.host, worker),
        )
    return judge, submission


async def test_m1_a_host_stores_no_more_output_than_the_limits_of_the_program_allow(
    pool: Pool, host: HostClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M1: each update may have 64 MB, and nothing else would end them."""
    monkeypatch.setattr(judgehost_tasks, "SPARE_BYTES", 1000)
    path = await execution_of(pool, host)

    async def update(number: int, size_bytes: int) -> int:
        content = base64.b64encode(b"x" * size_bytes).decode()
        return (await host.post(path, {"output": [chunk(number, content)]})).status_code

    most = 2 * ExecutionLimits().output_bytes
    assert [await update(1, most), await update(2, 1000), await update(3, 1)] == [200, 200, 422]


@pytest.mark.parametrize("changed", [{"number": 0}, {"number": 2**40}, {"at_ms": -(2**70)}])
async def test_m1_output_with_numbers_out_of_range_is_no_fault_of_the_server(
    pool: Pool, host: HostClient, changed: dict[str, int]
) -> None:
    path = await execution_of(pool, host)
    answer = await host.post(path, {"output": [{**chunk(1, ""), **changed}]})
    assert answer.status_code == 422, answer.text


def chunk(number: int, content: str) -> dict[str, object]:
    return {"attempt": 1, "number": number, "stream": 1, "at_ms": 1, "content": content}


async def execution_of(pool: Pool, host: HostClient) -> str:
    """The path for updates of an execution that the host runs."""
    worker = WorkerId(await host.register(execution_slots=1))
    work = await make_execution(pool, io=ProgramIo.BATCH)
    await start(
        pool,
        work,
        worker,
        task=Task.EXECUTE,
        read=lambda acquired, work: read_details(acquired, Task.EXECUTE, work),
        lease_s=3600,
        caps=Caps(),
        languages=None,
    )
    judge = JudgeId(new_id(JUDGE))
    room = HostRoom(worker, JudgeHostId(host.key.host), None, None)
    async with transaction(pool) as writing:
        await remote_tasks.register(writing, judge, work, 1, Task.EXECUTE, room)
    return f"callbacks/{work}/{judge}/update"


async def stale(pool: Pool) -> set[str]:
    async with connection(pool) as acquired:
        return {each.work for each in await leases.find_stale(acquired, limit=10)}


async def test_m4_a_host_registers_and_counts_as_a_worker(admin: Api, host: HostClient) -> None:
    """O3, Q15: readiness and the list of workers include hosts."""
    assert (await admin.get("/readyz")).json()["workers"]["ok"] is False
    worker = await host.register(execution_slots=4, speed=1.5, address="http://lab:9000")
    [listed] = (await admin.get(HOSTS)).json()["items"]
    assert (listed["name"], listed["state"]) == ("lab-1", "ready")
    assert listed["worker"] == {
        "id": worker,
        "is_live": True,
        "slots": 2,
        "execution_slots": 4,
        "busy": 0,
        "languages": ["c", "python3"],
        "versions": {"python3": "3.11", "c": "12"},
        "speed": 1.5,
        "address": "http://lab:9000",
        "draining_at": None,
        "started_at": listed["worker"]["started_at"],
        "seen_at": listed["worker"]["seen_at"],
    }
    [found] = (await admin.get("/v1/admin/workers")).json()["items"]
    assert (found["id"], found["host"], found["slots"]) == (worker, "lab-1", 2)


async def test_m4_a_heartbeat_tells_what_the_host_has(host: HostClient, pool: Pool) -> None:
    """Q3, A4: also the rate that waiting times are estimated with."""
    worker = await host.register()
    digest = "ab" * 32
    answer = await host.beat(worker, data=[digest], languages={"go": "1.2"}, cycle_s=0.5)
    assert answer == {"order": "work", "lost": []}
    await host.beat(worker, data=[digest])
    async with connection(pool) as acquired:
        [found] = await workers.list_alive(acquired)
        data = await acquired.fetchval("SELECT data FROM worker WHERE id = $1", worker)
        rate = await workers.rate_per_s(acquired)
    assert (found.busy, found.languages, found.versions) == (1, ["go"], {"go": "1.2"})
    assert (data, rate) == ([digest], 4)


async def test_m1_a_host_can_not_tell_of_more_cases_than_the_problem_has(
    pool: Pool, host: HostClient
) -> None:
    """M1: the page of the submission shows each case, also billions of them."""
    worker = await host.register()
    judge, _ = await send_task(pool, host, worker)
    most = 2**31 - 1
    await host.beat(worker, running=[{"judge_id": judge, "done": most, "total": most}])
    async with connection(pool) as acquired:
        rows = await acquired.fetch("SELECT cases_done, cases_total FROM lease")
    assert list(map(tuple, rows)) == [(3, 3)]


async def test_m4_a_heartbeat_renews_the_leases_of_tasks_and_names_lost_ones(
    host: HostClient, admin: Api, pool: Pool
) -> None:
    worker = await host.register()
    other = await add_host(admin, "other")
    running, submission = await send_task(pool, host, worker)
    checking, checked = await send_task(pool, host, worker, purpose="check")
    taken, _ = await send_task(pool, host, worker, leased=False)
    ended, _ = await send_task(pool, host, worker)
    of_other, _ = await send_task(pool, other, await other.register())
    async with connection(pool) as acquired:
        await acquired.execute(
            "UPDATE remote_task SET ended_at = now() WHERE judge_id = $1", ended
        )
        await acquired.execute("UPDATE lease SET beat_at = now() - interval '1 hour'")
    unknown = new_id(JUDGE)
    ids = [running, checking, taken, ended, of_other, unknown]
    answer = await host.beat(
        worker, running=[{"judge_id": each, "done": 5, "total": 3} for each in ids]
    )
    assert answer == {"order": "work", "lost": [taken, ended, of_other, unknown]}
    assert not {submission, checked} & await stale(pool)
    assert len(await stale(pool)) == 3
    async with connection(pool) as acquired:
        lease = await acquired.fetchrow("SELECT * FROM lease WHERE work_id = $1", submission)
    assert lease is not None
    assert (lease["cases_done"], lease["cases_total"]) == (3, 3)


async def test_m4_a_host_that_starts_again_loses_what_it_ran(
    host: HostClient, pool: Pool
) -> None:
    """Q6: the watchdog finds the work at once, and the earlier process is told to stop."""
    first = await host.register()
    judge, submission = await send_task(pool, host, first)
    assert await stale(pool) == set()
    second = await host.register()
    assert await stale(pool) == {submission}
    answer = await host.beat(first, running=[{"judge_id": judge}])
    assert answer == {"order": "gone", "lost": [judge]}
    assert (await host.beat(second))["order"] == "work"


async def test_m4_an_unknown_worker_must_register_again(
    host: HostClient, admin: Api, pool: Pool
) -> None:
    other = await (await add_host(admin, "other")).register()
    for worker in (other, "wrk_" + "0" * 26, "x"):
        answer = await host.post("heartbeat", {"worker": worker, "busy": 0})
        assert answer.status_code == 409
        assert answer.json()["code"] == "gone"
        assert (await host.post("leave", {"worker": worker})).json() == {}
    async with connection(pool) as acquired:
        assert [each.id for each in await workers.list_alive(acquired)] == [other]


async def test_m4_a_host_leaves(host: HostClient, admin: Api, pool: Pool) -> None:
    worker = await host.register()
    _, submission = await send_task(pool, host, worker)
    for _ in range(2):
        answer = await host.post("leave", {"worker": worker})
        assert (answer.status_code, answer.json()) == (200, {})
    assert await stale(pool) == {submission}
    assert (await host.beat(worker))["order"] == "gone"
    [listed] = (await admin.get(HOSTS)).json()["items"]
    assert (listed["state"], listed["worker"]["is_live"]) == ("offline", False)


async def test_m4_a_host_that_ends_drains(host: HostClient, admin: Api) -> None:
    worker = await host.register()
    assert (await host.beat(worker, ending=True))["order"] == "drain"
    [listed] = (await admin.get(HOSTS)).json()["items"]
    assert listed["state"] == "draining"
    assert (await admin.get("/readyz")).json()["workers"]["ok"] is False


async def test_a_worker_of_this_machine_never_touches_a_host(
    host: HostClient, pool: Pool
) -> None:
    """A worker that starts marks dead workers of its machine as gone; hosts are elsewhere."""
    await host.register()
    async with connection(pool) as acquired:
        assert await workers.list_on_host(acquired, "lab-1") == {}
