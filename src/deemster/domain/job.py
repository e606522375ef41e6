"""Jobs for the workers: their tasks, queues and priorities (Q8)."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Final

from deemster.domain.ids import ProblemId, RevisionDigest, WorkId, kind_of


class Task(StrEnum):
    RUN = "run"
    EXECUTE = "execute"
    ANALYZE = "analyze"
    EVALUATE = "evaluate"


class QueueName(StrEnum):
    CRITICAL = "critical"
    DEFAULT = "default"
    INTERACTIVE = "interactive"
    """Executions: they wait for no judging, and have slots of their own (E9)."""
    LOW = "low"


QUEUE_OF: Final[dict[Task, QueueName]] = {
    Task.EVALUATE: QueueName.CRITICAL,
    Task.RUN: QueueName.DEFAULT,
    Task.EXECUTE: QueueName.INTERACTIVE,
    Task.ANALYZE: QueueName.LOW,
}

QUEUE_WEIGHTS: Final[dict[QueueName, int]] = {
    QueueName.CRITICAL: 6,
    QueueName.DEFAULT: 3,
    QueueName.INTERACTIVE: 3,
    QueueName.LOW: 1,
}
"""Shares of the free slots among queues that have jobs."""


class PriorityClass(IntEnum):
    """Inside a queue, jobs of a lower class go first."""

    CONTEST = 0
    INTERACTIVE = 1
    PRACTICE = 2
    REJUDGE = 3


def effective_class(given: PriorityClass, tier: int) -> PriorityClass:
    """Practice of a user of tier 1 counts as interactive; other classes stay (Q8)."""
    return PriorityClass.INTERACTIVE if tier and given is PriorityClass.PRACTICE else given


PRIORITY_CLASS_WIDTH: Final = 500_000
"""Priorities in a class: a user\'s n-th waiting submission gets the n-th of them."""


def first_task(work: WorkId) -> Task:
    """The task with which a submission or an execution begins."""
    return Task.EXECUTE if kind_of(work) == "execution" else Task.RUN


@dataclass(frozen=True, slots=True)
class Job:
    """A message in a queue: ids, never sources or secrets (Q10)."""

    work: WorkId
    task: Task
    dispatch: int
    """Grows with each dispatch, because a queue may ignore a job id that it knows."""
    priority: int
    """From 1; lower goes first."""
    attempt: int
    """The attempt of the submission or execution when the job was sent."""
    problem: ProblemId | None = None
    revision: RevisionDigest | None = None
    """Executions have neither."""

    @property
    def job_id(self) -> str:
        return f"{self.work}-{self.task}-{self.dispatch}"

    @property
    def queue(self) -> QueueName:
        return QUEUE_OF[self.task]
