"""What is said of a submission (A2, A4): what is unknown, or no concern, is left out."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from deemster.api.models.kinds import ResponseModel
from deemster.domain.lifecycle import PUBLIC_STATUS, State
from deemster.domain.submission import AcceptedSubmission, QueuePosition, SubmissionView
from deemster.domain.verdict import Verdict


class Status(StrEnum):
    """The states as they are shown (S4); whether a job is on the road is our concern."""

    QUEUED = "queued"
    RUNNING = "running"
    ANALYZING = "analyzing"
    AI_EVALUATING = "ai_evaluating"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def states(self) -> frozenset[State]:
        return frozenset(state for state, shown in PUBLIC_STATUS.items() if shown == self)


class AcceptedOut(ResponseModel):
    id: str
    status: Literal["queued"] = "queued"
    problem_id: str
    language: str
    submitted_at: datetime


class ProgressOut(ResponseModel):
    case: int
    of: int


class GroupOut(ResponseModel):
    name: str
    verdict: Verdict
    score: float | None
    max_score: float | None


class CompilerOut(ResponseModel):
    version: str
    command: list[str]


class SubmissionLine(ResponseModel):
    """One of a list."""

    id: str
    status: Status
    verdict: Verdict | None
    """null until it is known."""
    problem_id: str
    contest_id: str | None = None
    language: str
    user_id: str
    user: str
    submitted_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    runtime_ms: int | None = None
    """CPU time of the slowest case."""
    memory_kb: int | None = None
    """The peak of all cases."""
    passed_cases: int | None = None
    total_cases: int | None = None
    score: float | None = None
    max_score: float | None = None
    rejudge_of: str | None = None


class SubmissionOut(SubmissionLine):
    revision: int | None = None
    """Of the problem: by which test data it is, or was, judged."""
    queue_position: int | None = None
    """While it is queued, from 1."""
    estimated_wait_s: float | None = None
    """While it is queued; null if nothing is known of how fast the workers are."""
    progress: ProgressOut | None = None
    """While it runs."""
    groups: list[GroupOut] | None = None
    """Of a problem with scores."""
    failed_case: int | None = None
    """The first that failed, from 1."""
    expected: str | None = None
    """Of a sample case that failed, as `got`."""
    got: str | None = None
    message: str | None = None
    """What the problem's checker says to the contestant."""
    limit_ms: int | None = None
    """The limit that was exceeded."""
    reason: str | None = None
    """Of a Runtime Error: signal, exit code or forbidden system call."""
    compiler_output: str | None = None
    """Of a Compile Error."""
    compiler: CompilerOut | None = None
    """What it was built or run by."""
    error: str | None = None
    """Why it could not be judged."""
    superseded_by: str | None = None
    staged_in: str | None = None
    """Of a trial, which only admins see: its rejudging."""


class SubmissionPage(ResponseModel):
    items: list[SubmissionLine]
    next_cursor: str | None
    """Where to go on; null: there are no more."""


class FileOut(ResponseModel):
    name: str
    content: str | None = None
    content_base64: str | None = None
    """Instead of `content`, where the file is no text."""


class SourceOut(ResponseModel):
    id: str
    language: str
    main: str | None
    files: list[FileOut]


def accepted_out(accepted: AcceptedSubmission) -> AcceptedOut:
    return AcceptedOut(
        id=accepted.id,
        status="queued",
        problem_id=accepted.problem,
        language=accepted.language,
        submitted_at=accepted.submitted_at,
    )


def line_out(view: SubmissionView) -> SubmissionLine:
    return SubmissionLine.model_validate(line_fields(view))


def submission_out(view: SubmissionView, place: QueuePosition | None) -> SubmissionOut:
    known: dict[str, Any] = {
        "revision": view.revision_number,
        "progress": progress_of(view),
        "error": view.failure if view.state is State.FAILED else None,
        "superseded_by": view.superseded_by,
        "staged_in": view.staged_in,
    }
    if view.verdict is not None and view.judgement is not None:
        known |= judgement_fields(view, view.judgement)
    fields = line_fields(view) | present(known)
    if place is not None:
        fields["queue_position"] = place.position
        fields["estimated_wait_s"] = None if place.wait_s is None else round(place.wait_s, 3)
    return SubmissionOut.model_validate(fields)


def line_fields(view: SubmissionView) -> dict[str, Any]:
    known = {
        "contest_id": view.contest,
        "started_at": view.started_at,
        "finished_at": view.finished_at,
        "runtime_ms": view.runtime_ms,
        "memory_kb": view.memory_kb,
        "passed_cases": view.passed_cases,
        "total_cases": view.total_cases,
        "score": view.score,
        "max_score": view.max_score,
        "rejudge_of": view.rejudge_of,
    }
    return {
        "id": view.id,
        "status": PUBLIC_STATUS[view.state],
        "verdict": view.verdict,
        "problem_id": view.problem,
        "language": view.language,
        "user_id": view.account,
        "user": view.account_name,
        "submitted_at": view.submitted_at,
        **present(known),
    }


def judgement_fields(view: SubmissionView, judgement: Mapping[str, Any]) -> dict[str, Any]:
    """From the contestant's judgement as `settle` wrote it; field by field, so that nothing
    that is added there is shown by accident (A11)."""
    failed = judgement.get("failed_case") or {}
    compiler_output = judgement.get("compiler_output")
    return {
        "groups": (judgement.get("groups") or None) if view.score is not None else None,
        "failed_case": failed.get("number"),
        "expected": failed.get("expected"),
        "got": failed.get("got"),
        "message": failed.get("team_message") or None,
        "limit_ms": limit_of(view, failed),
        "reason": failed.get("reason") or None,
        "compiler_output": compiler_output,
        "compiler": compiler_of(judgement),
    }


def limit_of(view: SubmissionView, failed: Mapping[str, Any]) -> int | None:
    if view.verdict is not Verdict.TIME_LIMIT:
        return None
    return failed.get("limit_ms") or view.limit_ms


def compiler_of(judgement: Mapping[str, Any]) -> dict[str, Any] | None:
    if not judgement.get("version"):
        return None
    return {"version": judgement["version"], "command": judgement.get("command") or []}


def progress_of(view: SubmissionView) -> dict[str, int] | None:
    if view.state is not State.RUNNING or view.progress is None:
        return None
    return {"case": view.progress.done, "of": view.progress.total}


def present(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
