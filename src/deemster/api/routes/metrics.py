"""`/metrics`: counters of this process and gauges of database and queues, for Prometheus."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import structlog
from fastapi import APIRouter, Request
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.responses import Response

from deemster.api.app_state import app_state
from deemster.api.authentication import Caller
from deemster.api.dependencies import Dependencies
from deemster.api.evaluation_metrics import evaluation_metrics
from deemster.api.judge_host_metrics import judge_host_metrics
from deemster.api.task_metrics import task_metrics
from deemster.domain.errors import Unavailable
from deemster.domain.ids import WorkerId
from deemster.domain.job import QueueName
from deemster.domain.queue_depth import QueueDepth
from deemster.domain.task_counts import TaskCounts
from deemster.store import counters, workers
from deemster.store.pool import connection
from deemster.store.stats import Gauges, read_gauges

log = structlog.get_logger()
router = APIRouter(tags=["health"])
KINDS: Final = ("submission", "execution", "analysis")
MEDIA_TYPE: Final = "text/plain; version=0.0.4"
RESPONSE: Final = {
    "description": "Metrics in the text format of Prometheus",
    "content": {"text/plain": {"schema": {"type": "string"}}},
}


@router.get("/metrics", response_class=Response, responses={200: RESPONSE})
async def show_metrics(request: Request, _caller: Caller) -> Response:
    """Shows metrics to a token with the scope metrics. A part that does not answer is left out,
    and its `_up` metric is 0.
    """
    dependencies = app_state(request).dependencies
    async with asyncio.TaskGroup() as group:
        found = group.create_task(read_database(dependencies))
        counted = group.create_task(read_stages(dependencies))
        depths = group.create_task(read_queues(dependencies))
        failed = group.create_task(judge_error_metrics(dependencies))
        hosts = group.create_task(judge_host_metrics(dependencies.pool))
        evaluated = group.create_task(evaluation_metrics(dependencies.pool))
    registry = CollectorRegistry()
    registry.register(
        Families(
            [
                *database_gauges(found.result()),
                *queue_gauges(depths.result()),
                *task_metrics(counted.result()),
                *failed.result(),
                *evaluated.result(),
                *hosts.result(),
            ]
        )
    )
    text = generate_latest(REGISTRY) + generate_latest(registry)
    return Response(text, media_type=MEDIA_TYPE)


async def read_database(dependencies: Dependencies) -> Gauges | None:
    try:
        async with connection(dependencies.pool) as acquired:
            return await read_gauges(acquired)
    except Unavailable as fault:
        log.warning("metrics.database_left_out", error=str(fault))
        return None


async def read_stages(
    dependencies: Dependencies,
) -> Mapping[WorkerId, Mapping[str, TaskCounts]]:
    try:
        async with connection(dependencies.pool) as acquired:
            return await workers.stage_counts(acquired)
    except Unavailable:
        return {}  # read_database logs it


async def judge_error_metrics(dependencies: Dependencies) -> list[Metric]:
    """Counted in the database, because judge hosts and workers have no /metrics (O8)."""
    try:
        async with connection(dependencies.pool) as acquired:
            found = await counters.judge_errors(acquired)
    except Unavailable:
        return []  # read_database logs it
    family = CounterMetricFamily(
        "deemster_judge_errors",
        "Submissions with the verdict Judge Error, by what failed",
        labels=["cause"],
    )
    for cause, count in found.items():
        family.add_metric([cause], count)
    return [family]


async def read_queues(dependencies: Dependencies) -> Mapping[QueueName, QueueDepth] | None:
    try:
        return await dependencies.queues.depths()
    except Unavailable as fault:
        log.warning("metrics.queues_left_out", error=str(fault))
        return None


class Families(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def database_gauges(found: Gauges | None) -> Iterator[GaugeMetricFamily]:
    yield gauge("database_up", "Whether the database answers", found is not None)
    if found is None:
        return
    submissions = {
        "waiting": found.waiting,
        "running": found.running,
        "in_stages": found.in_stages,
    }
    yield labelled("submissions", "Submissions that have not ended", "state", submissions)
    yield gauge("workers", "Live workers", found.workers)
    yield gauge("workers_draining", "Live workers that take no new jobs", found.draining)
    yield gauge("slots", "Submissions that the workers can judge at the same time", found.slots)
    yield gauge("slots_busy", "Submissions that are being judged", found.busy)
    yield gauge(
        "dead_letters_open",
        "Dead letters that were neither requeued nor discarded",
        found.dead_letters,
    )
    yield gauge(
        "outbox_unsent", "Jobs that were not yet sent to the queue store", found.outbox_unsent
    )
    oldest = {kind: found.oldest_waits_s.get(kind, 0) for kind in KINDS}
    yield labelled(
        "oldest_wait_seconds",
        "How long the oldest one has waited that no worker has begun",
        "kind",
        oldest,
    )
    # Read from the database: all processes that deliver webhooks count together.
    webhooks = {
        "waiting": found.webhooks_waiting,
        "retrying": found.webhooks_retrying,
        "failed": found.webhooks_failed,
    }
    yield labelled(
        "webhooks",
        "Webhook deliveries: waiting, waiting for a retry, and failed within a day",
        "state",
        webhooks,
    )
    yield gauge(
        "webhooks_overdue_seconds",
        "How long the oldest due webhook has been waiting for its delivery",
        found.webhooks_overdue_s,
    )


def queue_gauges(depths: Mapping[QueueName, QueueDepth] | None) -> Iterator[GaugeMetricFamily]:
    yield gauge("queues_up", "Whether the queue store answers", depths is not None)
    if depths is None:
        return
    backlog = {queue.value: depth.backlog for queue, depth in depths.items()}
    active = {queue.value: depth.active for queue, depth in depths.items()}
    yield labelled("queue_depth", "Jobs of a queue that no worker has begun", "queue", backlog)
    yield labelled("queue_active", "Jobs of a queue that a worker has begun", "queue", active)


def gauge(name: str, help_text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"deemster_{name}", help_text, value=value)


def labelled(
    name: str, help_text: str, label: str, values: Mapping[str, float]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"deemster_{name}", help_text, labels=[label])
    for value, number in values.items():
        family.add_metric([value], number)
    return family
