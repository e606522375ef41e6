"""Shows judge hosts, and how often they were refused, as Prometheus metrics."""

from collections import Counter

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from deemster.domain.errors import Unavailable
from deemster.store import judge_hosts
from deemster.store.judge_hosts import HostState
from deemster.store.pool import Pool, connection


async def judge_host_metrics(pool: Pool) -> list[Metric]:
    """Empty if the database is down; the metric `deemster_database_up` tells that."""
    try:
        async with connection(pool) as reading:
            states = Counter(host.state for host in await judge_hosts.list_all(reading))
            refusals = await judge_hosts.refusals(reading)
    except Unavailable:
        return []
    hosts = GaugeMetricFamily("deemster_judge_hosts", "Judge hosts by state", labels=["state"])
    for state in HostState:
        if state is not HostState.REVOKED:
            hosts.add_metric([state], states[state])
    refused = CounterMetricFamily(
        "deemster_judge_host_refusals",
        "Requests and results of judge hosts that were refused",
        labels=["reason"],
    )
    for reason, count in refusals.items():
        refused.add_metric([reason], count)
    return [hosts, refused]
