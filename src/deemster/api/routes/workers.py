"""`/v1/admin/workers`: list the live workers, drain them and resume them (Q14)."""

from collections.abc import Awaitable, Callable
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from deemster.api.authentication import Caller, actor_of
from deemster.api.http.body import json_response
from deemster.api.http.errors import errors
from deemster.api.models.workers import WorkerOut, WorkersOut, worker_out
from deemster.api.state import app_state
from deemster.domain.account import Account
from deemster.domain.errors import NotFound
from deemster.domain.ids import WorkerId
from deemster.store import audit, workers
from deemster.store.pool import Connection, connection, transaction
from deemster.store.workers import WorkerView

router = APIRouter(tags=["admin"])
PATH: Final = "/v1/admin/workers"
Change = Callable[[Connection, WorkerId], Awaitable[bool]]


@router.get(PATH, response_model=WorkersOut)
async def list_workers(request: Request, _caller: Caller) -> Response:
    """Lists the live workers."""
    async with connection(app_state(request).pool) as acquired:
        found = await workers.list_alive(acquired)
    return json_response(WorkersOut(items=[worker_out(each) for each in found]))


@router.post(PATH + "/{id}/drain", response_model=WorkerOut, responses=errors(404))
async def drain_worker(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Tells a worker to finish its jobs and to take no new ones, until `resume` or a restart.

    The worker gets the order with its next heartbeat, within about a second.
    """
    return await change_worker(request, caller, id, "worker.drain", workers.drain)


@router.post(PATH + "/{id}/resume", response_model=WorkerOut, responses=errors(404))
async def resume_worker(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Tells a worker to take jobs again. A worker that is shutting down still ends."""
    return await change_worker(request, caller, id, "worker.resume", workers.resume)


async def change_worker(
    request: Request, caller: Account, worker: str, act: str, change: Change
) -> Response:
    async with transaction(app_state(request).pool) as acquired:
        found = await find_live(acquired, worker)
        if found is None or not await change(acquired, found.id):
            raise NotFound("There is no such live worker: see GET /v1/admin/workers.")
        await audit.record(acquired, actor_of(request, caller), act, found.id, host=found.host)
        after = await find_live(acquired, worker)
    assert after is not None, "it was alive in this transaction"
    return json_response(worker_out(after))


async def find_live(acquired: Connection, worker: str) -> WorkerView | None:
    return next(
        (each for each in await workers.list_alive(acquired) if each.id == worker), None
    )
