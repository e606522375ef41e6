"""Counts the jobs of a worker by task, for /metrics of the API."""

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from deemster.domain.job import Task

BUCKETS_S: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 45.0, 120.0)
"""Upper bounds of the histogram of durations; the last bucket has none."""
DONE: Final = "done"
RETRY: Final = "retry"


@dataclass(slots=True)
class TaskCounts:
    started: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    """By outcome: `done`, `retry`, `failed`, `superseded` or `returned`."""
    seconds: float = 0.0
    """Sum of all durations."""
    durations: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS_S) + 1))
    """How many durations are in each bucket."""

    def end(self, outcome: str, seconds: float) -> None:
        self.ended[outcome] += 1
        self.seconds += seconds
        self.durations[bisect_left(BUCKETS_S, seconds)] += 1

    def document(self) -> dict[str, Any]:
        return {
            "started": self.started,
            "ended": dict(self.ended),
            "seconds": round(self.seconds, 6),
            "durations": self.durations,
        }

    @classmethod
    def of(cls, document: dict[str, Any]) -> "TaskCounts":
        return cls(
            document["started"],
            Counter(document["ended"]),
            document["seconds"],
            list(document["durations"]),
        )


class JobCounts:
    """All tasks of one worker since it started."""

    def __init__(self) -> None:
        self._tasks: dict[Task, TaskCounts] = {}
        self._changed = False

    def start(self, task: Task) -> None:
        self._tasks.setdefault(task, TaskCounts()).started += 1
        self._changed = True

    def end(self, task: Task, outcome: str, seconds: float) -> None:
        self._tasks.setdefault(task, TaskCounts()).end(outcome, seconds)
        self._changed = True

    def take_news(self) -> dict[str, Any] | None:
        """All counts as JSON, if one has changed since the last call."""
        if not self._changed:
            return None
        self._changed = False
        return {task: counts.document() for task, counts in self._tasks.items()}
