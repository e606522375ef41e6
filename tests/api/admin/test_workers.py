"""`/v1/admin/workers`: who lives, and who is told to take no more work."""

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


async def test_all_that_live_are_listed(admin: Api, pool: Pool) -> None:
    first = await make_worker(pool, "c", slots=3)
    gone = await make_worker(pool)
    await beat(pool, first)
    async with connection(pool) as acquired:
        await workers.mark_gone(acquired, [gone])
    [told] = (await admin.get(PATH)).json()["items"]
    assert (told["id"], told["slots"], told["languages"]) == (first, 3, ["c"])
    assert (told["busy"], told["cycle_s"], told["draining_at"]) == (1, 0.25, None)
    assert told["started_at"] <= told["seen_at"]


async def test_q14_a_drained_worker_hears_of_it_with_its_next_beat(
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
        deeds = await audit.page(acquired, before=None, limit=10, target=worker)
    assert [deed.act for deed in deeds] == ["worker.resume", "worker.drain", "worker.drain"]
    assert deeds[0].details == {"host": "here"}


async def test_q14_one_that_ends_is_not_kept_from_it(admin: Api, pool: Pool) -> None:
    """It says with each beat that it takes no more, whatever was written meanwhile."""
    worker = await make_worker(pool)
    await beat(pool, worker, ending=True)
    await admin.post(f"{PATH}/{worker}/resume")
    await beat(pool, worker, ending=True)
    [told] = (await admin.get(PATH)).json()["items"]
    assert told["draining_at"] is not None


async def test_q15_when_all_are_drained_nobody_works(admin: Api, pool: Pool) -> None:
    worker = await make_worker(pool)
    await admin.post(f"{PATH}/{worker}/drain")
    ready = await admin.get("/readyz")
    assert (ready.status_code, ready.json()["workers"]["ok"]) == (503, False)


@pytest.mark.parametrize("worker", ["wrk_" + "0" * 26, "wrk_1", "x%00", "9" * 300])
async def test_one_that_is_not_there_is_not_found(admin: Api, worker: str) -> None:
    """A6"""
    for act in ("drain", "resume"):
        assert (await admin.post(f"{PATH}/{worker}/{act}")).status_code == 404


async def test_one_that_left_is_not_found(admin: Api, pool: Pool) -> None:
    worker = await make_worker(pool)
    async with connection(pool) as acquired:
        await workers.mark_gone(acquired, [worker])
    assert (await admin.post(f"{PATH}/{worker}/drain")).status_code == 404


async def test_workers_are_for_admins(ada: Api, pool: Pool) -> None:
    """O6"""
    worker = await make_worker(pool)
    assert (await ada.get(PATH)).status_code == 403
    for act in ("drain", "resume"):
        assert (await ada.post(f"{PATH}/{worker}/{act}")).status_code == 403
    assert await beat(pool, worker) is WorkerOrder.WORK
