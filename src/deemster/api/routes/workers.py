"""`/v1/admin/workers`: list the live workers, drain them and resume them (Q14)."""

from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from deemster.api import workers
from deemster.api.app_state import app_state
from deemster.api.authentication import Caller
from deemster.api.http.body import json_response
from deemster.api.http.errors import errors
from deemster.api.models.workers import WorkerOut, WorkersOut

router = APIRouter(tags=["admin"])
PATH: Final = "/v1/admin/workers"


@router.get(PATH, response_model=WorkersOut)
async def list_workers(request: Request, _caller: Caller) -> Response:
    """Lists the live workers."""
    return json_response(WorkersOut(items=await workers.list_workers(app_state(request))))


@router.post(PATH + "/{id}/drain", response_model=WorkerOut, responses=errors(404))
async def drain_worker(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Tells a worker to finish its jobs and to take no new ones, until `resume` or a restart.

    The worker gets the order with its next heartbeat, within about a second.
    """
    return json_response(await workers.drain_worker(request, caller, id))


@router.post(PATH + "/{id}/resume", response_model=WorkerOut, responses=errors(404))
async def resume_worker(request: Request, caller: Caller, id: str) -> Response:  # noqa: A002
    """Tells a worker to take jobs again. A worker that is shutting down still ends."""
    return json_response(await workers.resume_worker(request, caller, id))
