"""Reads submissions, lists them, and records their judgements."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deemster.domain.ids import (
    AccountId,
    ContestId,
    ProblemId,
    RejudgingId,
    RevisionDigest,
    SubmissionId,
    work_id,
)
from deemster.domain.job import PRIORITY_CLASS_WIDTH, Job, PriorityClass, Task, first_task
from deemster.domain.lifecycle import WAITING, State
from deemster.domain.submission import (
    QueuePosition,
    SubmissionDetails,
    SubmissionView,
)
from deemster.domain.verdict import Verdict
from deemster.store.inline_artifacts import PendingArtifact
from deemster.store.leases import progress_from_row
from deemster.store.lifecycle import StateChanged
from deemster.store.pool import Connection, statements
from deemster.store.workers import rate_per_s

SQL = statements("submissions")


async def get(connection: Connection, submission: SubmissionId) -> SubmissionView | None:
    row = await SQL.get(connection, id=submission)
    return view_from_row(row) if row else None


async def jury_digest(connection: Connection, submission: SubmissionId) -> str | None:
    """The digest of the artifact with the jury's report; None: there is no verdict yet."""
    digest: str | None = await SQL.jury_digest(connection, id=submission)
    return digest


@dataclass(frozen=True, slots=True)
class SubmissionFilter:
    account: AccountId | None = None
    problem: ProblemId | None = None
    contest: ContestId | None = None
    verdict: Verdict | None = None
    language: str | None = None
    states: frozenset[State] | None = None
    archived: bool = False


async def page(
    connection: Connection,
    filters: SubmissionFilter,
    *,
    before: SubmissionId | None,
    limit: int,
) -> list[SubmissionView]:
    """Lists submissions, newest first (A8)."""
    rows = SQL.page(
        connection,
        account=filters.account,
        problem=filters.problem,
        contest=filters.contest,
        verdict=filters.verdict,
        language=filters.language,
        states=sorted(filters.states) if filters.states is not None else None,
        archived=filters.archived,
        before=before,
        limit=limit,
    )
    return [view_from_row(row) async for row in rows]


async def queue_position(
    connection: Connection, waiting: SubmissionView
) -> QueuePosition | None:
    """Returns the place in the queue, and the wait at the measured rate; None: not waiting."""
    if waiting.state not in WAITING:
        return None
    before = await SQL.count_ahead(connection, priority=waiting.priority, id=waiting.id)
    per_s = await rate_per_s(connection)
    return QueuePosition(before + 1, before / per_s if per_s else None)


async def count_urgent(connection: Connection) -> int:
    """Counts those that wait, without rejudges, which come after every new submission."""
    return int(
        await SQL.count_urgent(
            connection, rejudged=PriorityClass.REJUDGE * PRIORITY_CLASS_WIDTH
        )
    )


async def submission_details(
    connection: Connection, submission: SubmissionId, *, with_source: bool = False
) -> SubmissionDetails | None:
    """With its source, if wanted, the submission waits, and the source is in Postgres."""
    row = await SQL.submission_details(connection, id=submission, with_source=with_source)
    if row is None:
        return None
    return SubmissionDetails(
        **work_columns(row),
        time_ms=row["time_ms"],
        cases=row["cases"],
        staged=row["staged"],
        bundle=row["bundle"],
    )


def work_columns(row: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `SubmissionWork`."""
    return {
        "id": SubmissionId(row["id"]),
        "state": State(row["state"]),
        "attempt": row["attempt"],
        "account": AccountId(row["account_id"]),
        "problem": ProblemId(row["problem_id"]),
        "revision": RevisionDigest(row["revision"]),
        "language": row["language"],
        "main": row["main"],
        "source": row["source"],
        "age_s": row["age_s"],
    }


@dataclass(frozen=True, slots=True)
class JudgementRecord:
    verdict: Verdict
    runtime_ms: int
    memory_kb: int
    passed_cases: int
    total_cases: int
    score: float | None
    max_score: float | None
    contestant: Mapping[str, Any]
    jury: PendingArtifact
    """The artifact with the jury's report."""


async def record_judgement(
    connection: Connection, submission: SubmissionId, attempt: int, found: JudgementRecord
) -> frozenset[Task] | None:
    """Stores the verdict if that attempt still runs (J12); the caller then ends it.

    Returns the stages that the contest or the problem wants; None: neither decides that.
    """
    row = await SQL.record_verdict(
        connection,
        id=submission,
        attempt=attempt,
        verdict=found.verdict,
        runtime_ms=found.runtime_ms,
        memory_kb=found.memory_kb,
        passed_cases=found.passed_cases,
        total_cases=found.total_cases,
        score=found.score,
        max_score=found.max_score,
        contestant=found.contestant,
        jury=found.jury.digest,
        jury_content=found.jury.content,
    )
    if row is None:
        raise StateChanged(
            f"{submission} no longer runs as attempt {attempt}: its verdict is dropped."
        )
    return frozenset(map(Task, row["stages"])) if row["stages"] is not None else None


async def list_possibly_lost(
    connection: Connection, *, quiet_s: float, limit: int
) -> list[Job]:
    """Lists jobs that should be in the queue by now, those due first."""
    rows = SQL.list_possibly_lost(connection, quiet_s=quiet_s, limit=limit)
    return [
        Job(
            work=work_id(row["id"]),
            task=Task(row["stage"]) if row["stage"] else first_task(work_id(row["id"])),
            dispatch=row["dispatch"],
            priority=row["priority"],
            problem=row["problem_id"],
            revision=row["revision"],
            attempt=row["attempt"],
        )
        async for row in rows
    ]


async def archive(connection: Connection, submission: SubmissionId) -> Mapping[str, Any] | None:
    """Returns the row; None: the submission has no outcome, or was archived before."""
    row = await SQL.archive(connection, id=submission)
    return dict(row) if row else None


def view_from_row(row: Mapping[str, Any]) -> SubmissionView:
    superseded_by = row.get("superseded_by")
    return SubmissionView(
        id=SubmissionId(row["id"]),
        account=AccountId(row["account_id"]),
        account_name=row["account_name"],
        problem=ProblemId(row["problem_id"]),
        revision=RevisionDigest(row["revision"]),
        language=row["language"],
        state=State(row["state"]),
        attempt=row["attempt"],
        priority=row["priority"],
        submitted_at=row["submitted_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        judged_at=row["judged_at"],
        verdict=Verdict(row["verdict"]) if row["verdict"] else None,
        runtime_ms=row["runtime_ms"],
        memory_kb=row["memory_kb"],
        passed_cases=row["passed_cases"],
        total_cases=row["total_cases"],
        score=row["score"],
        max_score=row["max_score"],
        failure=row["failure"],
        archived_at=row["archived_at"],
        rejudge_of=SubmissionId(row["rejudge_of"]) if row["rejudge_of"] else None,
        contest=ContestId(row["contest_id"]) if row["contest_id"] else None,
        staged_in=RejudgingId(row["staged_in"]) if row["staged_in"] else None,
        example=row["example"],
        superseded_by=SubmissionId(superseded_by) if superseded_by else None,
        limit_ms=row.get("limit_ms"),
        revision_number=row.get("revision_number"),
        progress=progress_from_row(row) if row.get("cases_done") is not None else None,
        judgement=row.get("contestant"),
    )
