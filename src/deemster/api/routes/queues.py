"""`/v1/admin/queues`: the depth of the queues, their speed, and the load level (D4)."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api import queues
from deemster.api.app_state import app_state
from deemster.api.authentication import Caller
from deemster.api.http.body import json_response
from deemster.api.http.errors import errors
from deemster.api.models.queues import JobsPage, JobsQuery, QueuesOut

router = APIRouter(tags=["admin"])
PATH: Final = "/v1/admin/queues"


@router.get(PATH, response_model=QueuesOut)
async def list_queues(request: Request, _caller: Caller) -> Response:
    """Shows the queues, and the submissions that wait in the database. Works while the queue
    store is down.
    """
    return json_response(await queues.read_queues(app_state(request)))


@router.get(PATH + "/{name}/jobs", response_model=JobsPage, responses=errors(404, 422))
async def list_jobs(
    request: Request, _caller: Caller, name: str, query: Annotated[JobsQuery, Query()]
) -> Response:
    """Lists the jobs of a queue; the next or oldest job is first. Jobs move between pages."""
    return json_response(await queues.list_jobs(app_state(request), name, query))
