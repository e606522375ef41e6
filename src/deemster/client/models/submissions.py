"""Submissions and their events, as the client returns them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from deemster.client.models.parsing import Model, parse
from deemster.domain.verdict import Verdict

ENDED: Final = frozenset({"finished", "failed", "cancelled"})
SETTLED: Final = ENDED | {"analyzing", "ai_evaluating"}
"""Nothing changes the verdict any more; analysis and evaluation only add to it."""
EVENT_PREFIX: Final = "submission."


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSoFar(Model):
    """A test case that was judged while others are still to come."""

    number: int
    """From 1, in the order of judging."""
    verdict: str
    runtime_ms: int
    memory_kb: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseProgress(Model):
    """How many test cases have been judged."""

    case: int
    of: int
    cases: tuple[CaseSoFar, ...] = ()
    """In an event, those that no earlier event of the stream had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupResult(Model):
    name: str
    verdict: str | None
    """None: the group was skipped."""
    score: float | None = None
    max_score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompilerInfo(Model):
    version: str
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission(Model):
    """Fields that are not known yet, or do not apply, are None."""

    id: str
    status: str
    """`queued`, `running`, `analyzing`, `ai_evaluating`, `finished`, `failed` or `cancelled`.
    The verdict is known from `analyzing` and `ai_evaluating` on."""
    problem_id: str
    language: str
    submitted_at: datetime
    verdict: str | None = None
    """One of `Verdict`; None until the submission is judged."""
    contest_id: str | None = None
    user_id: str | None = None
    user: str | None = None
    started_at: datetime | None = None
    judged_at: datetime | None = None
    """When the verdict was known, if stages follow it."""
    finished_at: datetime | None = None
    runtime_ms: int | None = None
    """CPU time of the slowest test case."""
    memory_kb: int | None = None
    """Peak memory over all test cases."""
    passed_cases: int | None = None
    total_cases: int | None = None
    score: float | None = None
    max_score: float | None = None
    rejudge_of: str | None = None
    revision: int | None = None
    warning: str | None = None
    """Why the submission may wait for long; only in the answer to `submit`."""
    queue_position: int | None = None
    """The next submission has 1."""
    estimated_wait_s: float | None = None
    progress: CaseProgress | None = None
    groups: tuple[GroupResult, ...] | None = None
    failed_case: int | None = None
    """Number of the first test case that failed; the first case has 1."""
    expected: str | None = None
    got: str | None = None
    stderr: str | None = None
    message: str | None = None
    """Message of the problem's checker."""
    limit_ms: int | None = None
    time_factor: float | None = None
    reason: str | None = None
    """Cause of a Runtime Error, or that a program that took too long was idle."""
    compiler_output: str | None = None
    compiler: CompilerInfo | None = None
    error: str | None = None
    """Why the submission could not be judged."""
    superseded_by: str | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the verdict is known, or there will be none; stages may follow it."""
        return self.status in SETTLED

    @property
    def is_accepted(self) -> bool:
        return self.verdict == Verdict.ACCEPTED


@dataclass(frozen=True, slots=True, kw_only=True)
class JuryCase(Model):
    """One test case, as the jury sees it."""

    number: int
    name: str
    verdict: str | None
    """None: the case was not run, because it could not change the result."""
    is_sample: bool
    time_ms: int
    wall_ms: int
    memory_kb: int
    limit_ms: int
    runs: int
    score: float | None = None
    reason: str | None = None
    message: str | None = None
    """Message of the checker to the jury, or the first difference."""
    team_message: str | None = None
    output: str | None = None
    expected: str | None = None
    stderr: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement(Model):
    """A submission, as the jury sees it."""

    id: str
    status: str
    problem_id: str
    language: str
    user: str
    verdict: str | None = None
    error: str | None = None
    """Why there is no verdict, or why it is Judge Error."""
    cause: str | None = None
    """What failed, in one word, if the verdict is Judge Error."""
    score: float | None = None
    max_score: float | None = None
    compiler: CompilerInfo | None = None
    compiler_output: str | None = None
    groups: tuple[GroupResult, ...] = ()
    cases: tuple[JuryCase, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionEvent(Model):
    """One step of a submission."""

    submission_id: str
    status: str
    """Same words as the status of a submission."""
    state: str
    attempt: int
    at: datetime
    problem_id: str
    language: str
    user_id: str
    contest_id: str | None = None
    verdict: str | None = None
    """Only in the last event, like the following fields."""
    runtime_ms: int | None = None
    memory_kb: int | None = None
    passed_cases: int | None = None
    total_cases: int | None = None
    score: float | None = None
    max_score: float | None = None

    @property
    def is_last(self) -> bool:
        return self.status in ENDED


def parse_event(name: str, data: Any, _id: str) -> SubmissionEvent | CaseProgress | None:
    if name == "progress":
        return parse(CaseProgress, data)
    return parse(SubmissionEvent, data) if name.startswith(EVENT_PREFIX) else None
