"""`/v1/admin/workers`: who judges, and who is to stop taking work (Q14)."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from deemster.api.authentication import Caller, actor_of
from deemster.api.http.json_response import answer, faults
from deemster.api.models.kinds import ResponseModel
from deemster.api.state import app_state
from deemster.domain.account import Account
from deemster.domain.errors import NotFound
from deemster.domain.ids import GENERATED_ID, WorkerId
from deemster.store import audit, workers
from deemster.store.pool import Connection, connection, transaction
from deemster.store.workers import WorkerView

router = APIRouter(tags=["admin"])
PATH: Final = "/v1/admin/workers"
Change = Callable[[Connection, WorkerId], Awaitable[bool]]


class WorkerOut(ResponseModel):
    id: str
    host: str
    languages: list[str]
    slots: int
    """Programs that it judges at once."""
    busy: int
    """How many of these do."""
    cycle_s: float | None
    """What one submission takes a slot, on average; null: it has judged none."""
    started_at: datetime
    seen_at: datetime
    draining_at: datetime | None
    """Since when it takes no more work; null: it takes what comes."""


class WorkersOut(ResponseModel):
    items: list[WorkerOut]


@router.get(PATH, response_model=WorkersOut, responses=faults(401, 403, 429, 503))
async def list_workers(request: Request, _caller: Caller) -> Response:
    """All that live."""
    async with connection(app_state(request).pool) as acquired:
        found = await workers.list_alive(acquired)
    return answer(WorkersOut(items=[worker_out(each) for each in found]))


@router.post(
    PATH + "/{id}/drain",
    response_model=WorkerOut,
    responses=faults(401, 403, 404, 429, 503),
)
async def drain(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """It finishes what it runs and takes no more, until `resume`, or until it is started anew.

    It hears of this with its next beat, within about a second.
    """
    return await change(request, caller, id, "worker.drain", workers.drain)


@router.post(
    PATH + "/{id}/resume",
    response_model=WorkerOut,
    responses=faults(401, 403, 404, 429, 503),
)
async def resume(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """It takes work again; one that was told to end, ends all the same."""
    return await change(request, caller, id, "worker.resume", workers.resume)


async def change(
    request: Request, caller: Account, worker: str, act: str, change_it: Change
) -> Response:
    async with transaction(app_state(request).pool) as acquired:
        found = None
        if GENERATED_ID.fullmatch(worker):
            found = next(
                (each for each in await workers.list_alive(acquired) if each.id == worker), None
            )
        if found is None or not await change_it(acquired, found.id):
            raise NotFound("There is no such worker any more: see GET /v1/admin/workers.")
        await audit.record(acquired, actor_of(request, caller), act, found.id, host=found.host)
        [after] = [each for each in await workers.list_alive(acquired) if each.id == worker]
    return answer(worker_out(after))


def worker_out(worker: WorkerView) -> WorkerOut:
    return WorkerOut(
        id=worker.id,
        host=worker.host,
        languages=list(worker.languages),
        slots=worker.slots,
        busy=worker.busy,
        cycle_s=worker.cycle_s,
        started_at=worker.started_at,
        seen_at=worker.seen_at,
        draining_at=worker.draining_at,
    )
