"""Decides which failures are retried, when, and what the contestant is told (Q3)."""

import random
from dataclasses import dataclass
from typing import Final

from deemster.domain.errors import Refused
from deemster.domain.job import Task

FIRST_BACKOFF_S: Final = 2.0
"""Before the second try; doubled before each further one."""
LONGEST_BACKOFF_S: Final = 60.0
JITTER: Final = 0.5
"""Pauses between tries of a stage are up to so much shorter or longer: jobs that failed at the
same moment come back at different ones."""
RUNS: Final = frozenset({Task.RUN, Task.EXECUTE})
"""Tasks that run programs; the others analyse and evaluate them."""

JUDGE_FAILED: Final = (
    "The judge could not judge this submission. The program is not the cause. The operators "
    "of this judge have been notified and can have the submission judged again."
)
"""The only text that contestants get about a failure of the judge (A11)."""


def is_worth_retrying(fault: BaseException) -> bool:
    """A refusal would be repeated; any other fault may be temporary."""
    return not isinstance(fault, Refused)


@dataclass(frozen=True, slots=True)
class MaxTries:
    """How often a task is started at most."""

    runs: int
    stages: int

    def of(self, task: Task) -> int:
        return self.runs if task in RUNS else self.stages


def pause_s(task: Task, tries: int, fault: BaseException) -> float:
    """The pause after so many tries; a fault may ask for a longer one by `retry_after_s`."""
    return max(backoff_s(task, tries), getattr(fault, "retry_after_s", 0.0))


def backoff_s(task: Task, tries: int) -> float:
    pause_s = min(float(FIRST_BACKOFF_S * 2 ** (tries - 1)), LONGEST_BACKOFF_S)
    if task in RUNS:
        return pause_s
    return pause_s * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - no secret


def message_for_contestant(fault: BaseException) -> str:
    return str(fault) if isinstance(fault, Refused) else JUDGE_FAILED
