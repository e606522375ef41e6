"""Rejudgings: sets of submissions that are judged again on trial before they count (A9)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal

from deemster.domain.ids import (
    AccountId,
    ContestId,
    ProblemId,
    RejudgingId,
    RevisionDigest,
    SubmissionId,
)
from deemster.domain.lifecycle import APPLY, State
from deemster.domain.verdict import Verdict
from deemster.store.pool import Connection, statements

SQL = statements("rejudgings")


@dataclass(frozen=True, slots=True)
class RejudgingFilter:
    """Selects submissions that meet all conditions that are not None."""

    problem: ProblemId | None = None
    contest: ContestId | None = None
    verdict: Verdict | None = None
    language: str | None = None
    account: AccountId | None = None
    submitted_from: datetime | None = None
    submitted_to: datetime | None = None
    """Exclusive."""
    ids: Sequence[SubmissionId] | None = None
    outdated: Literal[True] | None = None
    """Judged by another revision than the current one (J9)."""

    @property
    def parameters(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def document(self) -> dict[str, Any]:
        """The JSON form that is stored: only conditions that are not None."""
        return {
            name: value.isoformat() if isinstance(value, datetime) else value
            for name, value in self.parameters.items()
            if value is not None
        }

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "RejudgingFilter":
        times = {
            name: datetime.fromisoformat(document[name])
            for name in ("submitted_from", "submitted_to")
            if name in document
        }
        return cls(**{**document, **times})


@dataclass(frozen=True, slots=True)
class Rejudging:
    id: RejudgingId
    wanted: Mapping[str, Any]
    matched: int
    """How many submissions matched when it was created."""
    reason: str | None
    made_by: AccountId | None
    made_by_name: str | None
    """None: created by a command on the machine."""
    made_at: datetime
    staged_at: datetime | None
    """When all trials had been created."""
    outcome: str | None
    settled_at: datetime | None


@dataclass(frozen=True, slots=True)
class MatchedSubmission:
    id: SubmissionId
    account: AccountId
    problem: ProblemId
    revision: RevisionDigest
    """The current one, not the one it was judged by."""
    language: str
    main: str | None
    source: str
    webhook_url: str | None
    contest: ContestId | None


@dataclass(frozen=True, slots=True)
class UnfinishedCounts:
    """Submissions that match but have no verdict yet, so they are in no rejudging."""

    unended: int
    outdated: int
    """Of these, with another revision than the current one."""


@dataclass(frozen=True, slots=True)
class RejudgingProgress:
    trials: int
    waiting: int
    running: int
    done: int
    failed: int
    cancelled: int
    overtaken: int
    """Judged, but the original was rejudged otherwise meanwhile, so they replace nothing."""
    applied: int
    verdicts_changed: int
    scores_changed: int


@dataclass(frozen=True, slots=True)
class VerdictPairCount:
    old: Verdict | None
    """None: the judge had failed."""
    new: Verdict
    pairs: int


@dataclass(frozen=True, slots=True)
class ChangedPair:
    old: SubmissionId
    new: SubmissionId
    account: AccountId
    account_name: str
    problem: ProblemId
    state: State
    """State of the new one."""
    old_verdict: Verdict | None
    new_verdict: Verdict | None
    old_score: float | None
    new_score: float | None
    applied: bool
    overtaken: bool


async def add(
    connection: Connection,
    rejudging: RejudgingId,
    filters: RejudgingFilter,
    *,
    matched: int,
    reason: str | None,
    made_by: AccountId | None,
) -> None:
    await SQL.add(
        connection,
        id=rejudging,
        wanted=filters.document,
        matched=matched,
        reason=reason,
        made_by=made_by,
    )


async def get(connection: Connection, rejudging: RejudgingId) -> Rejudging | None:
    row = await SQL.get(connection, id=rejudging)
    return rejudging_from_row(row) if row else None


async def lock(connection: Connection, rejudging: RejudgingId) -> Rejudging | None:
    """No other transaction stages, applies or drops it until this one ends."""
    row = await SQL.lock(connection, id=rejudging)
    return rejudging_from_row(row) if row else None


async def page(
    connection: Connection, *, before: RejudgingId | None, limit: int
) -> list[Rejudging]:
    return [
        rejudging_from_row(row)
        async for row in SQL.page(connection, before=before, limit=limit)
    ]


async def list_unstaged(connection: Connection, *, limit: int) -> list[RejudgingId]:
    return [RejudgingId(row["id"]) async for row in SQL.list_unstaged(connection, limit=limit)]


async def find_matching(
    connection: Connection,
    filters: RejudgingFilter,
    *,
    limit: int,
    after: SubmissionId | None = None,
    ended_by: datetime | None = None,
) -> list[MatchedSubmission]:
    """Lists matching submissions by id, only those that ended until `ended_by` (or now)."""
    rows = SQL.find_matching(
        connection, **filters.parameters, limit=limit, after=after, ended_by=ended_by
    )
    return [MatchedSubmission(**row) async for row in rows]


async def count_unfinished(
    connection: Connection, filters: RejudgingFilter
) -> UnfinishedCounts:
    return UnfinishedCounts(**await SQL.count_unfinished(connection, **filters.parameters))


async def last_staged(connection: Connection, rejudging: RejudgingId) -> SubmissionId | None:
    found: SubmissionId | None = await SQL.last_staged(connection, id=rejudging)
    return found


async def mark_staged(connection: Connection, rejudging: RejudgingId) -> None:
    await SQL.mark_staged(connection, id=rejudging)


async def progress(connection: Connection, rejudging: RejudgingId) -> RejudgingProgress:
    return RejudgingProgress(**await SQL.progress(connection, id=rejudging))


async def verdict_matrix(
    connection: Connection, rejudging: RejudgingId
) -> list[VerdictPairCount]:
    return [
        VerdictPairCount(
            Verdict(row["old"]) if row["old"] else None, Verdict(row["new"]), row["pairs"]
        )
        async for row in SQL.verdict_matrix(connection, id=rejudging)
    ]


async def list_changes(
    connection: Connection, rejudging: RejudgingId, *, after: SubmissionId | None, limit: int
) -> list[ChangedPair]:
    """Lists pairs that differ, and trials without a verdict, by the original's id."""
    rows = SQL.list_changes(connection, id=rejudging, after=after, limit=limit)
    return [
        ChangedPair(
            old=row["old"],
            new=row["new"],
            account=row["account_id"],
            account_name=row["account_name"],
            problem=row["problem_id"],
            state=State(row["state"]),
            old_verdict=Verdict(row["old_verdict"]) if row["old_verdict"] else None,
            new_verdict=Verdict(row["new_verdict"]) if row["new_verdict"] else None,
            old_score=row["old_score"],
            new_score=row["new_score"],
            applied=row["applied"],
            overtaken=row["overtaken"],
        )
        async for row in rows
    ]


async def count_unfinished_trials(connection: Connection, rejudging: RejudgingId) -> int:
    return int(await SQL.count_unfinished_trials(connection, id=rejudging))


async def lock_unfinished_trials(
    connection: Connection, rejudging: RejudgingId
) -> dict[SubmissionId, tuple[State, int]]:
    """Returns state and attempt of trials that have not ended, and locks their rows."""
    return {
        SubmissionId(row["id"]): (State(row["state"]), row["attempt"])
        async for row in SQL.lock_unfinished_trials(connection, id=rejudging)
    }


async def apply_trials(connection: Connection, rejudging: RejudgingId) -> None:
    """Replaces originals by their trials; the rejudging must be locked and all trials ended."""
    await SQL.replace_originals(connection, id=rejudging)
    await SQL.add_webhooks(connection, id=rejudging)
    await SQL.add_events(connection, id=rejudging, event=APPLY)
    await SQL.copy_analyses(connection, id=rejudging)
    # Counters last, accounts before problems: the same order as in `counters`.
    await SQL.open_account_tallies(connection, id=rejudging)
    await SQL.correct_account_tallies(connection, id=rejudging)
    await SQL.open_problem_tallies(connection, id=rejudging)
    await SQL.correct_problem_tallies(connection, id=rejudging)


async def finish(
    connection: Connection, rejudging: RejudgingId, outcome: str, *, by: AccountId | None
) -> bool:
    """Archives trials that replaced nothing. Returns False if it had an outcome before."""
    await SQL.archive_rest(connection, id=rejudging)
    settled = await SQL.finish(connection, id=rejudging, outcome=outcome, settled_by=by)
    return settled is not None


def rejudging_from_row(row: Mapping[str, Any]) -> Rejudging:
    return Rejudging(
        id=RejudgingId(row["id"]),
        wanted=row["wanted"],
        matched=row["matched"],
        reason=row["reason"],
        made_by=row["made_by"],
        made_by_name=row["made_by_name"],
        made_at=row["made_at"],
        staged_at=row["staged_at"],
        outcome=row["outcome"],
        settled_at=row["settled_at"],
    )
