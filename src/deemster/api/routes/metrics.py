"""`/metrics`: what this process counted and what the database holds, as Prometheus reads it."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import structlog
from fastapi import APIRouter, Request
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.responses import Response

from deemster.api.authentication import Caller
from deemster.api.dependencies import Dependencies
from deemster.api.http.json_response import faults
from deemster.api.state import app_state
from deemster.domain.errors import Unavailable
from deemster.domain.job import QueueName
from deemster.domain.queue_depth import QueueDepth
from deemster.store.pool import connection
from deemster.store.stats import Gauges, read_gauges

log = structlog.get_logger()
router = APIRouter(tags=["health"])
MEDIA_TYPE: Final = "text/plain; version=0.0.4"
TOLD: Final = {
    "description": "In the text format of Prometheus",
    "content": {"text/plain": {"schema": {"type": "string"}}},
}


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: TOLD, **faults(401, 403, 429, 503)},
)
async def metrics(request: Request, _caller: Caller) -> Response:
    """For a token with the scope metrics. Parts that do not answer are left out, and say so."""
    dependencies = app_state(request).dependencies
    async with asyncio.TaskGroup() as group:
        held = group.create_task(look(dependencies))
        depths = group.create_task(look_at_queues(dependencies))
    shown = CollectorRegistry()
    shown.register(Numbers([*of_database(held.result()), *of_queues(depths.result())]))
    text = generate_latest(REGISTRY) + generate_latest(shown)
    return Response(text, media_type=MEDIA_TYPE)


async def look(dependencies: Dependencies) -> Gauges | None:
    try:
        async with connection(dependencies.pool) as acquired:
            return await read_gauges(acquired)
    except Unavailable as fault:
        log.warning("metrics.database_left_out", error=str(fault))
        return None


async def look_at_queues(dependencies: Dependencies) -> Mapping[QueueName, QueueDepth] | None:
    try:
        return await dependencies.queues.depths()
    except Unavailable as fault:
        log.warning("metrics.queues_left_out", error=str(fault))
        return None


class Numbers(Collector):
    def __init__(self, families: Iterable[GaugeMetricFamily]) -> None:
        self._families = families

    def collect(self) -> Iterable[GaugeMetricFamily]:
        return self._families


def of_database(held: Gauges | None) -> Iterator[GaugeMetricFamily]:
    yield gauge("database_up", "Whether the database answers", held is not None)
    if held is None:
        return
    submissions = {"waiting": held.waiting, "running": held.running}
    yield labelled("submissions", "Submissions that have not ended", "state", submissions)
    yield gauge("workers", "Workers that live", held.workers)
    yield gauge("workers_draining", "Of these, those that take nothing new", held.draining)
    yield gauge("slots", "Programs that can be judged at once", held.slots)
    yield gauge("slots_busy", "Programs that are being judged", held.busy)
    yield gauge("dead_letters_open", "Dead letters to be dealt with", held.dead_letters)
    yield gauge("outbox_unsent", "Jobs that wait to be put into a queue", held.outbox_unsent)
    # From the database: who carries them is another process, which nobody asks.
    webhooks = {
        "waiting": held.webhooks_waiting,
        "retrying": held.webhooks_retrying,
        "failed": held.webhooks_failed,
    }
    yield labelled(
        "webhooks",
        "Webhooks to be sent, to be sent again, and given up within a day",
        "state",
        webhooks,
    )
    yield gauge(
        "webhooks_overdue_seconds",
        "For how long a webhook is due that nobody carries",
        held.webhooks_overdue_s,
    )


def of_queues(depths: Mapping[QueueName, QueueDepth] | None) -> Iterator[GaugeMetricFamily]:
    yield gauge("queues_up", "Whether the queue store answers", depths is not None)
    if depths is None:
        return
    backlog = {queue.value: depth.backlog for queue, depth in depths.items()}
    active = {queue.value: depth.active for queue, depth in depths.items()}
    yield labelled("queue_depth", "Jobs of a queue that nobody has begun", "queue", backlog)
    yield labelled("queue_active", "Jobs of a queue that were begun", "queue", active)


def gauge(name: str, said: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"deemster_{name}", said, value=value)


def labelled(
    name: str, said: str, label: str, values: Mapping[str, float]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"deemster_{name}", said, labels=[label])
    for value, number in values.items():
        family.add_metric([value], number)
    return family
