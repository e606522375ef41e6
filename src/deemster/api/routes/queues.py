"""`/v1/admin/queues`: the depth of the queues, their speed, and the load level (D4)."""

from collections.abc import Mapping
from typing import Annotated, Final

import structlog
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.authentication import Caller
from deemster.api.dependencies import Queues
from deemster.api.http.body import json_response
from deemster.api.http.errors import errors
from deemster.api.http.paging import cut
from deemster.api.models.queues import JobsPage, JobsQuery, QueuesOut, queue_out, waiting_out
from deemster.api.state import app_state
from deemster.domain.errors import NotFound, Unavailable
from deemster.domain.job import QueueName
from deemster.domain.queue_depth import QueueDepth, load_level
from deemster.store.pool import connection
from deemster.store.stats import read_queue_counts

log = structlog.get_logger()
router = APIRouter(tags=["admin"])
PATH: Final = "/v1/admin/queues"
MAX_OFFSET: Final = 10_000_000


@router.get(PATH, response_model=QueuesOut)
async def list_queues(request: Request, _caller: Caller) -> Response:
    """Shows the queues, and the submissions that wait in the database. Works while the queue
    store is down.
    """
    state = app_state(request)
    async with connection(state.pool) as acquired:
        counts = await read_queue_counts(acquired)
    depths = await read_depths(state.dependencies.queues)
    backlog = max(sum(each.backlog for each in depths.values()), counts.waiting)
    return json_response(
        QueuesOut(
            signal=load_level(backlog),
            reachable=bool(depths),
            queues=[queue_out(name, depths.get(name)) for name in QueueName],
            submissions=waiting_out(counts),
        )
    )


@router.get(PATH + "/{name}/jobs", response_model=JobsPage, responses=errors(404, 422))
async def list_jobs(
    request: Request, _caller: Caller, name: str, query: Annotated[JobsQuery, Query()]
) -> Response:
    """Lists the jobs of a queue; the next or oldest job is first. Jobs move between pages."""
    if name not in list(QueueName):
        raise NotFound(f"There is no such queue: the queues are {', '.join(QueueName)}.")
    start = min(query.last_number or 0, MAX_OFFSET)
    found = await app_state(request).dependencies.queues.job_ids(
        QueueName(name), query.state, start=start, most=query.limit + 1
    )
    page, cursor = cut(found, query.limit, lambda _: str(start + query.limit))
    return json_response(JobsPage(items=list(page), next_cursor=cursor))


async def read_depths(store: Queues) -> Mapping[QueueName, QueueDepth]:
    """Returns nothing if the queue store does not answer."""
    try:
        return await store.depths()
    except Unavailable as fault:
        log.warning("queues.unavailable", error=str(fault))
        return {}
