"""Reads the metrics of the judge for admins, now and as samples of the last hour (O1)."""

import asyncio
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

import structlog

from deemster.domain.errors import Unavailable
from deemster.domain.job import Task
from deemster.domain.task_counts import BUCKETS_S, DONE, TaskCounts
from deemster.store import counters, workers
from deemster.store.pool import Pool, connection
from deemster.store.stats import Gauges, read_gauges

log = structlog.get_logger()
SAMPLE_S: Final = 15.0
MAX_SAMPLES: Final = 240
"""The samples of one hour."""
MINUTE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Metrics:
    gauges: Gauges
    tasks: Mapping[str, TaskCounts]
    """What all live workers counted since they started, by task."""
    judge_errors: Mapping[str, int]
    """Submissions with the verdict Judge Error, by cause."""


@dataclass(frozen=True, slots=True)
class MetricSample:
    at_s: float
    waiting: int
    busy: int
    oldest_wait_s: float
    judged: int
    judging_s: float
    """Time that judging took, summed."""
    failures: Counter[str]
    """Attempts of jobs that were not done, by outcome, and Judge Errors, by cause."""


@dataclass(frozen=True, slots=True)
class Series:
    """One value for each sample, or for each time between two samples."""

    ages_s: Sequence[float]
    """Seconds from each sample to the last one."""
    waiting: Sequence[float]
    oldest_wait_s: Sequence[float]
    busy: Sequence[float]
    judged_per_minute: Sequence[float]
    run_s: Sequence[float]
    failed: Sequence[float]
    failures: Mapping[str, Sequence[float]]
    """The same by cause; only causes that occurred in this time."""


async def read_metrics(pool: Pool) -> Metrics:
    async with connection(pool) as acquired:
        gauges = await read_gauges(acquired)
        counted = await workers.stage_counts(acquired)
        errors = await counters.judge_errors(acquired)
    return Metrics(gauges, sum_counts(counted.values()), errors)


def sum_counts(of_workers: Iterable[Mapping[str, TaskCounts]]) -> dict[str, TaskCounts]:
    total: dict[str, TaskCounts] = {}
    for tasks in of_workers:
        for task, counts in tasks.items():
            found = total.setdefault(task, TaskCounts())
            found.started += counts.started
            found.ended += counts.ended
            found.seconds += counts.seconds
            pairs = zip(found.durations, counts.durations, strict=True)
            found.durations = [mine + other for mine, other in pairs]
    return total


def quantile_s(counts: TaskCounts, share: float) -> float | None:
    """The upper bound of the bucket in which the quantile is; None: nothing has ended, or it
    is above all bounds.
    """
    total = sum(counts.durations)
    if not total:
        return None
    below = accumulate(counts.durations)
    found = next(index for index, number in enumerate(below) if number >= share * total)
    return BUCKETS_S[found] if found < len(BUCKETS_S) else None


class MetricHistory:
    """Each API process samples for itself; the metrics are those of the whole judge."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._samples: deque[MetricSample] = deque(maxlen=MAX_SAMPLES)

    async def run(self) -> None:
        while True:
            await asyncio.sleep(SAMPLE_S)
            try:
                self.add(await read_metrics(self._pool))
            except Unavailable as fault:
                log.warning("metrics.sample_left_out", error=str(fault))

    def add(self, found: Metrics) -> None:
        run = found.tasks.get(Task.RUN, TaskCounts())
        gauges = found.gauges
        failures = Counter(run.ended)
        failures.pop(DONE, None)
        self._samples.append(
            MetricSample(
                at_s=asyncio.get_running_loop().time(),
                waiting=gauges.waiting,
                busy=gauges.busy,
                oldest_wait_s=max(gauges.oldest_waits_s.values(), default=0.0),
                judged=run.ended[DONE],
                judging_s=run.seconds,
                failures=failures + Counter(found.judge_errors),
            )
        )

    def series(self) -> Series:
        # Counters of a worker begin anew when it starts; the difference is negative then.
        pairs = list(pairwise(self._samples))
        judged = [max(0, new.judged - old.judged) for old, new in pairs]
        spans = [new.at_s - old.at_s for old, new in pairs]
        failures = [new.failures - old.failures for old, new in pairs]  # never negative
        took = [max(0.0, new.judging_s - old.judging_s) for old, new in pairs]
        return Series(
            ages_s=[self._samples[-1].at_s - each.at_s for each in self._samples],
            waiting=[each.waiting for each in self._samples],
            oldest_wait_s=[each.oldest_wait_s for each in self._samples],
            busy=[each.busy for each in self._samples],
            judged_per_minute=[
                count * MINUTE_S / span if span else 0.0
                for count, span in zip(judged, spans, strict=True)
            ],
            run_s=[
                seconds / count if count else 0.0
                for seconds, count in zip(took, judged, strict=True)
            ],
            failed=[each.total() for each in failures],
            failures={
                cause: [each[cause] for each in failures]
                for cause in sorted(set().union(*failures))
            },
        )
