"""Jobs for the workers: their tasks, queues and priorities (Q8)."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Final

from deemster.domain.ids import AccountId, ProblemId, RevisionDigest, WorkId, kind_of


class Task(StrEnum):
    """What a job is for: the kind of work, and what is done with it (P1)."""

    RUN = "submission:run"
    ANALYZE = "submission:analyze"
    EVALUATE = "submission:evaluate_ai"
    FINALIZE = "submission:finalize"
    EXECUTE = "execution:run"
    ANALYZE_LATER = "analysis:run"
    """An analysis that was requested for a program which has ended."""
    RECEIVE = "submission:receive"
    """A judge host has reported a result, which is to be settled (M3)."""
    RECEIVE_EXECUTION = "execution:receive"
    RECEIVE_ANALYSIS = "analysis:receive"

    @property
    def kind(self) -> str:
        """The kind of work, as in the database."""
        return self.partition(":")[0]

    @property
    def step(self) -> str:
        return self.partition(":")[2]


STAGES: Final = (Task.ANALYZE, Task.EVALUATE)
"""The stages after the verdict, in order. Each can be turned on or off."""


class QueueName(StrEnum):
    CRITICAL = "critical"
    DEFAULT = "default"
    INTERACTIVE = "interactive"
    """Executions: they wait for no judging, and have slots of their own (E9)."""
    LOW = "low"
    TRANSMIT = "transmit"
    """What may run on judge hosts (M3)."""
    RECEIVE = "receive"
    """Results of judge hosts."""


QUEUE_OF: Final[dict[Task, QueueName]] = {
    Task.EVALUATE: QueueName.CRITICAL,
    Task.RUN: QueueName.DEFAULT,
    Task.EXECUTE: QueueName.INTERACTIVE,
    Task.ANALYZE: QueueName.LOW,
    Task.FINALIZE: QueueName.LOW,
    Task.ANALYZE_LATER: QueueName.LOW,
    Task.RECEIVE: QueueName.RECEIVE,
    Task.RECEIVE_EXECUTION: QueueName.RECEIVE,
    Task.RECEIVE_ANALYSIS: QueueName.RECEIVE,
}
"""The queue of each task, as long as all of it runs on local workers."""
TRANSMITTABLE: Final = frozenset({Task.RUN, Task.EXECUTE, Task.ANALYZE, Task.ANALYZE_LATER})
"""Tasks that judge hosts can run."""

QUEUE_WEIGHTS: Final[dict[QueueName, int]] = {
    QueueName.CRITICAL: 6,
    QueueName.DEFAULT: 3,
    QueueName.INTERACTIVE: 3,
    QueueName.LOW: 1,
    QueueName.TRANSMIT: 3,
    QueueName.RECEIVE: 6,
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
"""Priorities in a class: a user's n-th waiting submission gets the n-th of them."""
MAX_AHEAD: Final = 100
"""Each waiting job of a user lowers the priority of the next, up to this many."""


def count_ahead(accounts: Iterable[AccountId]) -> list[int]:
    """For each of the jobs that are inserted together, how many of its user come before it."""
    counts: Counter[AccountId] = Counter()
    ahead = []
    for account in accounts:
        ahead.append(counts[account])
        counts[account] += 1
    return ahead


FIRST_TASKS: Final = {task.kind: task for task in (Task.RUN, Task.EXECUTE, Task.ANALYZE_LATER)}


RECEIVING: Final = {
    task.kind: task for task in (Task.RECEIVE, Task.RECEIVE_EXECUTION, Task.RECEIVE_ANALYSIS)
}
"""The task that settles a result of a judge host, by the kind of work."""


def first_task(work: WorkId) -> Task:
    """The task with which a submission, an execution or a requested analysis begins."""
    return FIRST_TASKS[kind_of(work)]


@dataclass(frozen=True, slots=True)
class StagePolicy:
    """Decides which stages follow a verdict."""

    default: frozenset[Task] = frozenset()
    """Those of this installation, if neither the contest nor the problem has others."""
    available: frozenset[Task] = frozenset()
    """Those that workers can run; others never follow."""

    def follow_up(self, wanted: frozenset[Task] | None) -> tuple[Task, ...]:
        """The tasks of a submission after its verdict, in order; without a stage, none."""
        enabled = self.available & (self.default if wanted is None else wanted)
        stages = tuple(stage for stage in STAGES if stage in enabled)
        return (*stages, Task.FINALIZE) if stages else ()


NO_STAGES: Final = StagePolicy()


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
    """The attempt of the work when the job was sent."""
    problem: ProblemId | None = None
    revision: RevisionDigest | None = None
    """Only submissions have them."""

    @property
    def job_id(self) -> str:
        return f"{self.work}-{self.task.step}-{self.dispatch}"

    @property
    def is_first(self) -> bool:
        """Whether it is the first job of its work."""
        return self.dispatch == 1 and self.task is first_task(self.work)

    @property
    def queue(self) -> QueueName:
        return QUEUE_OF[self.task]
