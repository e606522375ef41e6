"""Reads the depth of the queues and their jobs, for routes and pages (D4)."""

from collections.abc import Mapping
from typing import Final

import structlog

from deemster.api.app_state import AppState
from deemster.api.dependencies import Queues
from deemster.api.http.paging import cut
from deemster.api.models.queues import JobsPage, JobsQuery, QueuesOut, queue_out, waiting_out
from deemster.domain.errors import NotFound, Unavailable
from deemster.domain.job import QueueName
from deemster.domain.queue_depth import QueueDepth, load_level
from deemster.store.pool import connection
from deemster.store.stats import read_queue_counts

log = structlog.get_logger()
MAX_OFFSET: Final = 10_000_000


async def read_queues(state: AppState) -> QueuesOut:
    """Works while the queue store is down."""
    async with connection(state.pool) as acquired:
        counts = await read_queue_counts(acquired)
    depths = await read_depths(state.dependencies.queues)
    backlog = max(sum(each.backlog for each in depths.values()), counts.waiting)
    return QueuesOut(
        signal=load_level(backlog),
        reachable=bool(depths),
        queues=[queue_out(name, depths.get(name)) for name in QueueName],
        submissions=waiting_out(counts),
    )


async def list_jobs(state: AppState, name: str, query: JobsQuery) -> JobsPage:
    """The next or oldest job is first. Jobs move between pages."""
    if name not in list(QueueName):
        raise NotFound(f"There is no such queue: the queues are {', '.join(QueueName)}.")
    start = min(query.last_number or 0, MAX_OFFSET)
    found = await state.dependencies.queues.job_ids(
        QueueName(name), query.state, start=start, most=query.limit + 1
    )
    page, cursor = cut(found, query.limit, lambda _: str(start + query.limit))
    return JobsPage(items=list(page), next_cursor=cursor)


async def read_depths(store: Queues) -> Mapping[QueueName, QueueDepth]:
    """Returns nothing if the queue store does not answer."""
    try:
        return await store.depths()
    except Unavailable as fault:
        log.warning("queues.unavailable", error=str(fault))
        return {}
