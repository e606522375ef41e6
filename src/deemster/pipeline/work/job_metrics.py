"""Counts starts and verdicts in the metrics of the process that records them (O1)."""

from deemster.domain.job import QUEUE_OF, Task
from deemster.domain.work import WorkDetails
from deemster.metrics import QUEUE_WAIT, TIME_TO_VERDICT, VERDICTS


def count_start(started: WorkDetails) -> None:
    """Counts only first starts: a retry waits on purpose."""
    if started.tries <= 1:
        queue = QUEUE_OF[started.task]
        QUEUE_WAIT.labels(queue, started.language).observe(started.age_s)


def count_verdict(details: WorkDetails, verdict: str, took_s: float) -> None:
    """`took_s` is the time since the submission; other tasks have no verdict."""
    if details.task is Task.RUN:
        VERDICTS.labels(verdict, details.language).inc()
        queue = QUEUE_OF[details.task]
        TIME_TO_VERDICT.labels(queue, details.language).observe(took_s)
