"""Lists workers with what they run, drains and resumes them, for routes and pages (Q14)."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request

from deemster.api.app_state import AppState, app_state
from deemster.api.authentication import actor_of
from deemster.api.models.workers import WorkerOut, worker_out
from deemster.domain.account import Account
from deemster.domain.errors import NotFound
from deemster.domain.ids import WorkerId
from deemster.store import audit, leases, workers
from deemster.store.leases import RunningWork
from deemster.store.pool import Connection, connection, transaction
from deemster.store.workers import WorkerView

Change = Callable[[Connection, WorkerId], Awaitable[bool]]


async def list_workers(state: AppState) -> list[WorkerOut]:
    """Lists the workers that are alive."""
    async with connection(state.pool) as acquired:
        return [worker_out(each) for each in await workers.list_alive(acquired)]


async def running_work(state: AppState) -> dict[str, list[RunningWork]]:
    """What each worker and each process of a judge host runs now, by its id."""
    async with connection(state.pool) as acquired:
        found = await leases.list_running(acquired)
    by_worker: dict[str, list[RunningWork]] = {}
    for each in found:
        by_worker.setdefault(each.worker, []).append(each)
    return by_worker


async def drain_worker(request: Request, caller: Account, worker: str) -> WorkerOut:
    return await change_worker(request, caller, worker, "worker.drain", workers.drain)


async def resume_worker(request: Request, caller: Account, worker: str) -> WorkerOut:
    return await change_worker(request, caller, worker, "worker.resume", workers.resume)


async def change_worker(
    request: Request, caller: Account, worker: str, act: str, change: Change
) -> WorkerOut:
    async with transaction(app_state(request).pool) as acquired:
        found = await find_live(acquired, worker)
        if found is None or not await change(acquired, found.id):
            raise NotFound("There is no such live worker: see GET /v1/admin/workers.")
        await audit.record(acquired, actor_of(request, caller), act, found.id, host=found.host)
        after = await find_live(acquired, worker)
    assert after is not None, "it was alive in this transaction"
    return worker_out(after)


async def find_live(acquired: Connection, worker: str) -> WorkerView | None:
    return next(
        (each for each in await workers.list_alive(acquired) if each.id == worker), None
    )
