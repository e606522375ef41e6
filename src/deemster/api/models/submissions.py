"""Request and response models of submissions; unknown values are left out (A1, A2, A4)."""

import base64
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, StringConstraints

from deemster.api.http.paging import Page, PageQuery
from deemster.api.models.field_types import ResponseModel, ShortText
from deemster.api.models.programs import ProgramIn
from deemster.domain.ids import ContestId, ProblemId
from deemster.domain.lifecycle import PUBLIC_STATUS, State
from deemster.domain.submission import (
    AcceptedSubmission,
    JudgingProgress,
    QueuePosition,
    SubmissionView,
)
from deemster.domain.verdict import Verdict
from deemster.pipeline.accept.submissions import SubmitRequest

SUBMISSIONS_PATH: Final = "/v1/submissions"


def check_web_address(url: str) -> str:
    try:
        parts = urlsplit(url)
        good = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        good = False
    if not good or not url.isprintable() or " " in url or parts.username is not None:
        raise ValueError("write it as https://host/path, without a user name")
    return url


class SubmissionIn(ProgramIn):
    problem_id: ShortText = Field(examples=["prob_aplusb"])
    contest_id: ShortText | None = None
    """Contest in which the submission counts. The contest must be open."""
    webhook_url: (
        Annotated[str, StringConstraints(max_length=2048), AfterValidator(check_web_address)]
        | None
    ) = None
    """URL that gets a webhook when the submission is judged, or has ended without a verdict.
    If stages follow the verdict, it gets another webhook when they have ended."""

    def to_submit_request(self, key: str | None) -> SubmitRequest:
        return SubmitRequest(
            problem=ProblemId(self.problem_id),
            language=self.language,
            files=self.source_files,
            main=self.main,
            webhook_url=self.webhook_url,
            idempotency_key=key,
            contest=ContestId(self.contest_id) if self.contest_id is not None else None,
        )


class Status(StrEnum):
    """The states as clients see them: `queued` covers all before a worker starts (S4). The
    verdict is known from `analyzing` and `ai_evaluating` on (S5)."""

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


class CaseSoFarOut(ResponseModel):
    number: int
    """From 1, in the order of judging."""
    verdict: Verdict
    runtime_ms: int
    memory_kb: int


class ProgressOut(ResponseModel):
    case: int
    """How many test cases have been judged."""
    of: int
    cases: list[CaseSoFarOut] | None = None
    """Those that have been judged, at most 300; missing if a judge host judges."""


class GroupOut(ResponseModel):
    name: str
    verdict: Verdict | None
    """null: the group was skipped."""
    skipped: bool
    """Whether the group was not run: it requires a group that failed, or the result was known
    without it."""
    score: float | None
    max_score: float | None


class CompilerOut(ResponseModel):
    version: str
    command: list[str]


class SubmissionItem(ResponseModel):
    """A submission in a list."""

    id: str
    status: Status
    verdict: Verdict | None
    """null until the submission is judged."""
    problem_id: str
    contest_id: str | None = None
    language: str
    user_id: str
    user: str
    submitted_at: datetime
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
    """Id of the submission that this one replaces."""


class SubmissionOut(SubmissionItem):
    revision: int | None = None
    """Revision of the problem whose test data judges the submission."""
    queue_position: int | None = None
    """Only while the submission is queued; the next one has 1."""
    estimated_wait_s: float | None = None
    """Only while the submission is queued; null if the speed of the workers is unknown."""
    progress: ProgressOut | None = None
    """Only while the submission runs."""
    groups: list[GroupOut] | None = None
    """Results of the test groups, if the problem has scores."""
    failed_case: int | None = None
    """Number of the first test case that failed; the first case has 1."""
    expected: str | None = None
    """Expected output of the failed case, if it is a sample."""
    got: str | None = None
    """Beginning of what the program wrote to stdout in the failed case, if it is a sample. For
    an interactive problem, the interaction: `>` marks what the program wrote, `<` what it
    read."""
    stderr: str | None = None
    """End of what the program wrote to stderr in the failed case, if it is a sample."""
    message: str | None = None
    """Message of the problem's checker to the contestant."""
    limit_ms: int | None = None
    """The time limit that was exceeded."""
    time_factor: float | None = None
    """Time limits were multiplied by it, if the judge host is slower or faster than others."""
    reason: str | None = None
    """Cause of a Runtime Error: signal, exit code or forbidden system call. For Time Limit
    Exceeded, it says so if the program was idle."""
    compiler_output: str | None = None
    """Messages of the compiler, for a Compile Error."""
    compiler: CompilerOut | None = None
    """The compiler or interpreter that was used."""
    error: str | None = None
    """Why the submission could not be judged."""
    superseded_by: str | None = None
    """Id of the submission that replaced this one."""
    staged_in: str | None = None
    """Id of the rejudging, if this is a trial. Only admins see trials."""


class SubmissionPage(Page[SubmissionItem]):
    """A page of submissions."""


class SubmissionQuery(PageQuery):
    user: ShortText | None = None
    """Id or name of the account."""
    problem: ShortText | None = None
    contest: ShortText | None = None
    verdict: Verdict | None = None
    language: ShortText | None = None
    status: Status | None = None


class SourceFileOut(ResponseModel):
    name: str
    content: str | None = None
    content_base64: str | None = None
    """Replaces `content` if the file is not text."""


class SourceOut(ResponseModel):
    id: str
    language: str
    main: str | None
    files: list[SourceFileOut]


def accepted_out(accepted: AcceptedSubmission) -> AcceptedOut:
    return AcceptedOut(
        id=accepted.id,
        status="queued",
        problem_id=accepted.problem,
        language=accepted.language,
        submitted_at=accepted.submitted_at,
    )


def location_of(submission: str) -> dict[str, str]:
    return {"Location": f"{SUBMISSIONS_PATH}/{submission}"}


def file_out(name: str, content: bytes) -> SourceFileOut:
    try:
        return SourceFileOut(name=name, content=content.decode())
    except UnicodeDecodeError:
        return SourceFileOut(name=name, content_base64=base64.b64encode(content).decode())


def item_out(view: SubmissionView) -> SubmissionItem:
    return SubmissionItem.model_validate(item_fields(view))


def submission_out(view: SubmissionView, position: QueuePosition | None) -> SubmissionOut:
    known: dict[str, Any] = {
        "revision": view.revision_number,
        "progress": progress_of(view),
        "error": view.failure if view.state is State.FAILED else None,
        "superseded_by": view.superseded_by,
        "staged_in": view.staged_in,
    }
    if view.verdict is not None and view.judgement is not None:
        known |= judgement_fields(view, view.judgement)
    fields = item_fields(view) | present(known)
    if position is not None:
        fields["queue_position"] = position.position
        fields["estimated_wait_s"] = (
            None if position.wait_s is None else round(position.wait_s, 3)
        )
    return SubmissionOut.model_validate(fields)


def item_fields(view: SubmissionView) -> dict[str, Any]:
    known = {
        "contest_id": view.contest,
        "started_at": view.started_at,
        "judged_at": view.judged_at,
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
    """Copies field by field, so that no new field is shown by accident (A11)."""
    failed = judgement.get("failed_case") or {}
    return {
        "groups": (groups_out(judgement) or None) if view.score is not None else None,
        "failed_case": failed.get("number"),
        "expected": failed.get("expected"),
        "got": failed.get("got"),
        "stderr": failed.get("stderr"),
        "message": failed.get("team_message") or None,
        "limit_ms": limit_of(view, failed),
        "time_factor": factor if (factor := judgement.get("time_factor", 1.0)) != 1 else None,
        "reason": failed.get("reason") or None,
        "compiler_output": judgement.get("compiler_output"),
        "compiler": compiler_of(judgement),
    }


def groups_out(judgement: Mapping[str, Any]) -> list[GroupOut]:
    """The group of the whole problem has no name; its result is that of the submission."""
    groups = [each for each in judgement.get("groups") or [] if each["name"]]
    return [
        GroupOut(
            name=each["name"],
            verdict=each["verdict"],
            skipped=each["verdict"] is None,
            score=each["score"],
            max_score=each["max_score"],
        )
        for each in groups
    ]


def limit_of(view: SubmissionView, failed: Mapping[str, Any]) -> int | None:
    if view.verdict is not Verdict.TIME_LIMIT:
        return None
    return failed.get("limit_ms") or view.limit_ms


def compiler_of(judgement: Mapping[str, Any]) -> dict[str, Any] | None:
    if not judgement.get("version"):
        return None
    return {"version": judgement["version"], "command": judgement.get("command") or []}


def progress_of(view: SubmissionView) -> ProgressOut | None:
    if view.state is not State.RUNNING or view.progress is None:
        return None
    return progress_out(view.progress)


def progress_out(progress: JudgingProgress) -> ProgressOut:
    cases = [
        CaseSoFarOut(
            number=each.number,
            verdict=each.verdict,
            runtime_ms=each.cpu_ms,
            memory_kb=each.memory_kb,
        )
        for each in progress.cases
    ]
    shown = ProgressOut(case=progress.done, of=progress.total)
    return shown.model_copy(update={"cases": cases}) if cases else shown


def present(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
