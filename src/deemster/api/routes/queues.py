"""`/v1/admin/queues`: how deep they are, how fast they empty, and what that says (D4)."""

from collections.abc import Mapping
from typing import Annotated, Final

import structlog
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from deemster.api.authentication import Caller
from deemster.api.dependencies import Queues
from deemster.api.http.json_response import answer, faults
from deemster.api.http.numbers import number_at
from deemster.api.http.paging import PageQuery, cut
from deemster.api.models.kinds import ResponseModel
from deemster.api.state import app_state
from deemster.domain.errors import NotFound, Unavailable
from deemster.domain.job import QueueName
from deemster.domain.queue_depth import JobState, LoadLevel, QueueDepth, is_alarming, load_level
from deemster.store.pool import connection
from deemster.store.stats import QueueCounts, read_queue_counts

log = structlog.get_logger()
router = APIRouter(tags=["admin"])
PATH: Final = "/v1/admin/queues"
FARTHEST: Final = 10_000_000
"""A place in a queue that stores still count to."""


class QueueOut(ResponseModel):
    name: QueueName
    depth: int | None
    """Waiting and delayed: what nobody has begun. null: the queue store does not answer."""
    waiting: int | None
    active: int | None
    delayed: int | None
    failed: int | None
    """Jobs that could not even be read; a failed submission is a dead letter."""
    signal: LoadLevel | None
    alarm: bool | None
    """It is deeper than it should ever be."""


class WaitingOut(ResponseModel):
    """Submissions as the database knows them; the queue store is only their road."""

    pending: int
    """Accepted, and not yet in the queue store."""
    queued: int
    running: int
    oldest_wait_s: float | None
    """null: none waits."""
    drained_per_s: float | None
    """null: no worker has judged anything yet."""
    estimated_wait_s: float | None
    """Until all that wait now are done."""


class QueuesOut(ResponseModel):
    signal: LoadLevel
    """Of the deeper of the two: all queues together, and the database's own line."""
    reachable: bool
    """The queue store answers."""
    queues: list[QueueOut]
    submissions: WaitingOut


class JobsQuery(PageQuery):
    state: JobState = JobState.WAITING


class JobsPage(ResponseModel):
    items: list[str]
    """Ids of jobs: a submission's, its task, and how often it was sent."""
    next_cursor: str | None


@router.get(PATH, response_model=QueuesOut, responses=faults(401, 403, 429, 503))
async def list_queues(request: Request, _caller: Caller) -> Response:
    """Of the queue store and of the database; also while the store is down."""
    dependencies = app_state(request).dependencies
    async with connection(dependencies.pool) as acquired:
        line = await read_queue_counts(acquired)
    depths = await look(dependencies.queues)
    backlog = max(sum(each.backlog for each in depths.values()), line.waiting)
    return answer(
        QueuesOut(
            signal=load_level(backlog),
            reachable=bool(depths),
            queues=[queue_out(name, depths.get(name)) for name in QueueName],
            submissions=waiting_out(line),
        )
    )


@router.get(
    PATH + "/{name}/jobs",
    response_model=JobsPage,
    responses=faults(401, 403, 404, 422, 429, 503),
)
async def list_jobs(
    request: Request, _caller: Caller, name: str, query: Annotated[JobsQuery, Query()]
) -> Response:
    """The next one first, or the oldest. Jobs move on while pages are turned."""
    if name not in list(QueueName):
        raise NotFound(f"There is no such queue: they are {', '.join(QueueName)}.")
    start = min(number_at(query.place) or 0, FARTHEST)
    found = await app_state(request).dependencies.queues.job_ids(
        QueueName(name), query.state, start=start, most=query.limit + 1
    )
    page, cursor = cut(found, query.limit, lambda _: str(start + query.limit))
    return answer(JobsPage(items=list(page), next_cursor=cursor))


async def look(store: Queues) -> Mapping[QueueName, QueueDepth]:
    """Nothing when it does not answer: the database has more to say."""
    try:
        return await store.depths()
    except Unavailable as fault:
        log.warning("queues.unavailable", error=str(fault))
        return {}


def queue_out(name: QueueName, depth: QueueDepth | None) -> QueueOut:
    return QueueOut(
        name=name,
        depth=depth.backlog if depth else None,
        waiting=depth.waiting if depth else None,
        active=depth.active if depth else None,
        delayed=depth.delayed if depth else None,
        failed=depth.failed if depth else None,
        signal=load_level(depth.backlog) if depth else None,
        alarm=is_alarming(name, depth.backlog) if depth else None,
    )


def waiting_out(line: QueueCounts) -> WaitingOut:
    return WaitingOut(
        pending=line.pending,
        queued=line.queued,
        running=line.running,
        oldest_wait_s=line.oldest_s,
        drained_per_s=line.per_s,
        estimated_wait_s=line.done_in_s,
    )
