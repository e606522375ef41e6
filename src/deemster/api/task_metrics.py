"""Shows the numbers and durations of the workers' jobs as Prometheus metrics."""

from collections.abc import Iterator, Mapping
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric

from deemster.domain.ids import WorkerId
from deemster.domain.task_counts import BUCKETS_S, RETRY, TaskCounts

BOUNDS = [*map(str, BUCKETS_S), "+Inf"]


def task_metrics(counts: Mapping[WorkerId, Mapping[str, TaskCounts]]) -> Iterator[Metric]:
    """A worker's counters begin at 0 when it starts, so each has its own."""
    labels = ["task", "worker"]
    started = CounterMetricFamily("deemster_stage_started", "Jobs that began", labels=labels)
    ended = CounterMetricFamily(
        "deemster_stage_ended", "Jobs that ended, by outcome", labels=[*labels, "outcome"]
    )
    retries = CounterMetricFamily(
        "deemster_stage_retries", "Jobs that failed and are tried again", labels=labels
    )
    seconds = HistogramMetricFamily(
        "deemster_stage_seconds", "Durations of jobs, in seconds", labels=labels
    )
    for worker, tasks in counts.items():
        for task, found in tasks.items():
            of = [task, worker]
            started.add_metric(of, found.started)
            retries.add_metric(of, found.ended[RETRY])
            for outcome, number in found.ended.items():
                ended.add_metric([*of, outcome], number)
            buckets = zip(BOUNDS, accumulate(found.durations), strict=True)
            seconds.add_metric(of, list(buckets), found.seconds)
    yield from (started, ended, retries, seconds)
