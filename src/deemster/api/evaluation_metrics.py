"""Shows as Prometheus metrics what models cost, and which evaluations wait for a teacher.

All figures come from the database, because workers, which call the models, have no /metrics.
"""

from prometheus_client.core import GaugeMetricFamily

from deemster.domain.errors import Unavailable
from deemster.domain.model_tier import MICROS
from deemster.store import evaluations, model_calls
from deemster.store.pool import Pool, connection


async def evaluation_metrics(pool: Pool) -> list[GaugeMetricFamily]:
    """Empty if the database is down; the metric `deemster_database_up` tells that."""
    try:
        async with connection(pool) as reading:
            today = await model_calls.spend_by_day(reading, days=1)
            flagged = await evaluations.count_flagged(reading)
    except Unavailable:
        return []
    calls = by_tier("calls_today", "Calls of models since midnight UTC")
    failed = by_tier("calls_failed_today", "Calls of models that failed since midnight UTC")
    cost = by_tier(
        "cost_today", "Cost of calls of models since midnight UTC, with reserved amounts"
    )
    for each in today:
        calls.add_metric([each.tier], each.calls)
        failed.add_metric([each.tier], each.failed)
        cost.add_metric([each.tier], each.cost_micros / MICROS)
    waiting = GaugeMetricFamily(
        "deemster_evaluations_flagged", "Evaluations that wait for a teacher", value=flagged
    )
    return [calls, failed, cost, waiting]


def by_tier(name: str, text: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"deemster_evaluation_{name}", text, labels=["tier"])
