"""A submission as it is created, as a worker gets it, and as its owner sees it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from deemster.domain.ids import (
    AccountId,
    ContestId,
    HengAccessKey,
    ProblemId,
    RejudgingId,
    RevisionDigest,
    SubmissionId,
)
from deemster.domain.job import PRIORITY_CLASS_WIDTH, PriorityClass, effective_class
from deemster.domain.judgement import CaseSoFar
from deemster.domain.lifecycle import State
from deemster.domain.limits import CHECKERS_S, COMPILE_S, OVERHEAD_S, wall_ms
from deemster.domain.verdict import Verdict
from deemster.domain.work import WorkDetails

MEASURED_TWICE: Final = 2
"""A case near the limit is run again."""


@dataclass(frozen=True, slots=True)
class HengTask:
    """What the callbacks of a heng client's task need; its result goes to `webhook_url`."""

    access_key: HengAccessKey
    update_url: str
    message_bytes: int
    """Most bytes of the compiler's messages in the result."""


@dataclass(frozen=True, slots=True)
class NewSubmission:
    id: SubmissionId
    account: AccountId
    problem: ProblemId
    revision: RevisionDigest
    language: str
    main: str | None
    source: str
    """Digest of the artifact with the source files."""
    request_digest: bytes
    """Equal for two requests with the same key and the same content (I2)."""
    idempotency_key: str | None = None
    webhook_url: str | None = None
    rejudge_of: SubmissionId | None = None
    staged_in: RejudgingId | None = None
    contest: ContestId | None = None
    priority_class: PriorityClass = PriorityClass.PRACTICE
    tier: int = 0
    heng: HengTask | None = None

    @property
    def first_priority(self) -> int:
        return effective_class(self.priority_class, self.tier) * PRIORITY_CLASS_WIDTH + 1


@dataclass(frozen=True, slots=True)
class AcceptedSubmission:
    """The answer to a POST and to each repetition of it (A1, I1)."""

    id: SubmissionId
    problem: ProblemId
    language: str
    submitted_at: datetime


@dataclass(frozen=True, slots=True)
class SubmissionWork(WorkDetails):
    """What judging and the stages after the verdict need of a submission."""

    id: SubmissionId
    problem: ProblemId
    revision: RevisionDigest
    main: str | None
    source: str

    @property
    def context(self) -> dict[str, str]:
        return {"language": self.language, "revision": self.revision}


@dataclass(frozen=True, slots=True)
class SubmissionDetails(SubmissionWork):
    """The data with which a worker begins to judge."""

    time_ms: int
    cases: int
    staged: bool = False
    """A trial of a rejudging, whose verdict counts only after the rejudging is applied, or an
    example of a package, whose verdict never counts.
    """
    bundle: bytes | None = field(default=None, repr=False, compare=False)
    """The content of `source`, if it is small and was read for a run."""

    def deadline_s(self, time_factor: float = 1.0) -> float:
        """The sum of its limits and a margin (Q4), so that no run outlives its job."""
        case_s = wall_ms(self.time_ms) * time_factor / 1000
        return COMPILE_S + self.cases * MEASURED_TWICE * case_s + CHECKERS_S + OVERHEAD_S


@dataclass(frozen=True, slots=True)
class JudgingProgress:
    done: int
    total: int
    cases: tuple[CaseSoFar, ...] = ()
    """The first of those that are done; empty if a judge host judges."""


@dataclass(frozen=True, slots=True)
class SubmissionView:
    """A submission as its owner may see it, without any hidden test data (A11)."""

    id: SubmissionId
    account: AccountId
    account_name: str
    problem: ProblemId
    revision: RevisionDigest
    language: str
    state: State
    attempt: int
    priority: int
    submitted_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    judged_at: datetime | None
    """When the verdict was known, if stages followed it; else it is `finished_at`."""
    verdict: Verdict | None
    runtime_ms: int | None
    memory_kb: int | None
    passed_cases: int | None
    total_cases: int | None
    score: float | None
    max_score: float | None
    failure: str | None
    archived_at: datetime | None
    rejudge_of: SubmissionId | None
    contest: ContestId | None = None
    staged_in: RejudgingId | None = None
    example: str | None = None
    """Path in its package, if it was judged only to verify the package."""
    superseded_by: SubmissionId | None = None
    limit_ms: int | None = None
    revision_number: int | None = None
    progress: JudgingProgress | None = None
    judgement: Mapping[str, Any] | None = None
    """The contestant's judgement as JSON, stored when the submission was settled."""


@dataclass(frozen=True, slots=True)
class QueuePosition:
    """The position of a waiting submission in its queue (A4)."""

    position: int
    """Counted from 1."""
    wait_s: float | None
    """Estimated wait; None: the workers' speed is unknown."""
