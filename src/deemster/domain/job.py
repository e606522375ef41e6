"""What is asked of the workers: tasks, the queues that carry them, and who goes first (Q8)."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Final

from deemster.domain.ids import ProblemId, RevisionDigest, SubmissionId


class Task(StrEnum):
    RUN = "run"
    ANALYZE = "analyze"
    EVALUATE = "evaluate"


class QueueName(StrEnum):
    CRITICAL = "critical"
    DEFAULT = "default"
    LOW = "low"


QUEUE_OF: Final[dict[Task, QueueName]] = {
    Task.EVALUATE: QueueName.CRITICAL,
    Task.RUN: QueueName.DEFAULT,
    Task.ANALYZE: QueueName.LOW,
}

QUEUE_WEIGHTS: Final[dict[QueueName, int]] = {
    QueueName.CRITICAL: 6,
    QueueName.DEFAULT: 3,
    QueueName.LOW: 1,
}
"""How free slots are shared between queues that have work."""


class PriorityClass(IntEnum):
    """Inside a queue, lower goes first."""

    CONTEST = 0
    INTERACTIVE = 1
    PRACTICE = 2
    REJUDGE = 3


def effective_class(given: PriorityClass, tier: int) -> PriorityClass:
    """A user's tier raises practice; a live contest stays first, a rejudge last (Q8)."""
    return PriorityClass.INTERACTIVE if tier and given is PriorityClass.PRACTICE else given


PRIORITY_CLASS_WIDTH: Final = 500_000
"""Ranks in one class: a user's n-th waiting submission is behind all users' earlier ones."""


@dataclass(frozen=True, slots=True)
class Job:
    """One job on the road: ids, never sources or secrets (Q10)."""

    submission: SubmissionId
    task: Task
    dispatch: int
    """Grows only when it is sent again: a queue may take a known id for done."""
    priority: int
    """From 1, lower first."""
    problem: ProblemId
    revision: RevisionDigest
    attempt: int
    """What the submission's was when this was sent."""

    @property
    def job_id(self) -> str:
        return f"{self.submission}-{self.task}-{self.dispatch}"

    @property
    def queue(self) -> QueueName:
        return QUEUE_OF[self.task]
