"""`/v1/admin/workers`: list, drain and resume workers."""

import pytest

from deemster.domain.ids import WorkerId
from deemster.store import audit, workers
from deemster.store.pool import Pool, connection
from deemster.store.workers import WorkerOrder
from tests.api.conftest import Api, make_worker

PATH = "/v1/admin/workers"


async def beat(pool: Pool, worker: WorkerId, *, ending: bool = False) -> WorkerOrder:
    async with connection(pool) as acquired:
        return await workers.heartbeat(acquired, worker, busy=1, cycle_s=0.25, ending=ending)


async def test_live_workers_are_listed(admin: Api, pool: Pool) -> None:
    first = await make_worker(pool, "c", slots=3)
    gone = await make_worker(pool)
    await beat(pool, first)
    async with connection(pool) as acquired:
        await workers.mark_gone(acquired, [gone])
    [result] = (await admin.get(PATH)).json()["items"]
    assert (result["id"], result["slots"], result["languages"]) == (first, 3, ["c"])
    assert (result["busy"], result["cycle_s"], result["draining_at"]) == (1, 0.25, None)
    assert result["started_at"] <= result["seen_at"]


async def test_q14_a_worker_learns_of_a_drain_with_its_next_heartbeat(
    admin: Api, pool: Pool
) -> None:
    worker = await make_worker(pool)
    assert await beat(pool, worker) is WorkerOrder.WORK
    answer = await admin.post(f"{PATH}/{worker}/drain")
    assert answer.status_code == 200, answer.text
    since = answer.json()["draining_at"]
    assert since is not None
    assert await beat(pool, worker) is WorkerOrder.DRAIN
    assert (await admin.post(f"{PATH}/{worker}/drain")).json()["draining_at"] == since
    assert (await admin.post(f"{PATH}/{worker}/resume")).json()["draining_at"] is None
    assert await beat(pool, worker) is WorkerOrder.WORK
    async with connection(pool) as acquired:
        audit_entries = await audit.page(acquired, before=None, limit=10, target=worker)
    assert [entry.act for entry in audit_entries] == [
        "worker.resume",
        "worker.drain",
        "worker.drain",
    ]
    assert audit_entries[0].details == {"host": "here"}


async def test_q14_resume_does_not_stop_a_worker_from_ending(admin: Api, pool: Pool) -> None:
    """The worker repeats with each heartbeat that it is draining."""
    worker = await make_worker(pool)
    await beat(pool, worker, ending=True)
    await admin.post(f"{PATH}/{worker}/resume")
    await beat(pool, worker, ending=True)
    [result] = (await admin.get(PATH)).json()["items"]
    assert result["draining_at"] is not None


async def test_q15_when_all_workers_are_drained_no_worker_takes_jobs(
    admin: Api, pool: Pool
) -> None:
    worker = await make_worker(pool)
    await admin.post(f"{PATH}/{worker}/drain")
    ready = await admin.get("/readyz")
    assert (ready.status_code, ready.json()["workers"]["ok"]) == (200, False)


@pytest.mark.parametrize("worker", ["wrk_" + "0" * 26, "wrk_1", "x%00", "9" * 300])
async def test_an_unknown_worker_is_not_found(admin: Api, worker: str) -> None:
    """A6"""
    for act in ("drain", "resume"):
        assert (await admin.post(f"{PATH}/{worker}/{act}")).status_code == 404


async def test_a_worker_that_has_ended_is_not_found(admin: Api, pool: Pool) -> None:
    worker = await make_worker(pool)
    async with connection(pool) as acquired:
        await workers.mark_gone(acquired, [worker])
    assert (await admin.post(f"{PATH}/{worker}/drain")).status_code == 404


async def test_only_admins_see_workers(ada: Api, pool: Pool) -> None:
    """O6"""
    worker = await make_worker(pool)
    assert (await ada.get(PATH)).status_code == 403
    for act in ("drain", "resume"):
        assert (await ada.post(f"{PATH}/{worker}/{act}")).status_code == 403
    assert await beat(pool, worker) is WorkerOrder.WORK
