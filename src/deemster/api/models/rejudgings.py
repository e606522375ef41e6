"""What is said of a rejudging: how far it is, and what it would change."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from deemster.api.models.kinds import ResponseModel
from deemster.api.models.submissions import Status
from deemster.domain.lifecycle import PUBLIC_STATUS, State
from deemster.domain.verdict import Verdict
from deemster.pipeline.verdict.rejudging_set import Overview
from deemster.store.rejudgings import ChangedPair, Rejudging, VerdictPairCount


class RejudgingStatus(StrEnum):
    STAGING = "staging"
    """Not all trials are there yet."""
    OPEN = "open"
    APPLIED = "applied"
    DROPPED = "dropped"


class WantedOut(ResponseModel):
    problem: str | None = None
    contest: str | None = None
    verdict: Verdict | None = None
    language: str | None = None
    account: str | None = None
    submitted_from: datetime | None = None
    submitted_to: datetime | None = None
    ids: list[str] | None = None
    outdated: bool | None = None
    """By other test data than is in force."""


class RejudgingLine(ResponseModel):
    id: str
    status: RejudgingStatus
    wanted: WantedOut
    matched: int
    """How many submissions were like that when it was made."""
    reason: str | None
    made_by: str | None
    """null: a command on the machine."""
    made_at: datetime
    settled_at: datetime | None


class ProgressOfSet(ResponseModel):
    trials: int
    waiting: int
    running: int
    done: int
    failed: int
    """The judge could not judge them: they stay out."""
    cancelled: int
    overtaken: int
    """Judged, but the old one was judged again by other means: they stay out."""
    applied: int


class UnderWayOut(ResponseModel):
    """Submissions that are as wanted, but wait or run now: they are not in the set."""

    unended: int
    outdated: int
    """Of these, for other test data than is in force: judge them again when they have ended."""


class CellOut(ResponseModel):
    old: Verdict | None
    """null: the judge had failed at it."""
    new: Verdict
    pairs: int


class RejudgingOut(RejudgingLine):
    is_ready: bool
    """It can be applied."""
    progress: ProgressOfSet
    under_way: UnderWayOut
    verdicts_changed: int
    scores_changed: int
    matrix: list[CellOut] | None = None


class RejudgingPage(ResponseModel):
    items: list[RejudgingLine]
    next_cursor: str | None
    """Where to go on; null: there are no more."""


class ChangeOut(ResponseModel):
    old_id: str
    new_id: str
    user_id: str
    user: str
    problem_id: str
    new_status: Status
    old_verdict: Verdict | None
    new_verdict: Verdict | None
    old_score: float | None
    new_score: float | None
    left_out: Literal["failed", "cancelled", "overtaken"] | None
    """Why the new one takes, or took, no place."""


class ChangePage(ResponseModel):
    items: list[ChangeOut]
    next_cursor: str | None
    """Where to go on; null: there are no more."""


def line_out(rejudging: Rejudging) -> RejudgingLine:
    return RejudgingLine.model_validate(line_fields(rejudging))


def rejudging_out(
    overview: Overview, matrix: Sequence[VerdictPairCount] | None = None
) -> RejudgingOut:
    progress = overview.progress
    shown = {
        **line_fields(overview.rejudging),
        "is_ready": overview.is_ready,
        "progress": {name: getattr(progress, name) for name in ProgressOfSet.model_fields},
        "under_way": asdict(overview.under_way),
        "verdicts_changed": progress.verdicts_changed,
        "scores_changed": progress.scores_changed,
    }
    if matrix is not None:
        shown["matrix"] = [
            {"old": cell.old, "new": cell.new, "pairs": cell.pairs} for cell in matrix
        ]
    return RejudgingOut.model_validate(shown)


def line_fields(rejudging: Rejudging) -> dict[str, Any]:
    running = RejudgingStatus.OPEN if rejudging.staged_at else RejudgingStatus.STAGING
    return {
        "id": rejudging.id,
        "status": rejudging.outcome or running,
        "wanted": rejudging.wanted,
        "matched": rejudging.matched,
        "reason": rejudging.reason,
        "made_by": rejudging.made_by_name,
        "made_at": rejudging.made_at,
        "settled_at": rejudging.settled_at,
    }


def change_out(change: ChangedPair) -> ChangeOut:
    return ChangeOut(
        old_id=change.old,
        new_id=change.new,
        user_id=change.account,
        user=change.account_name,
        problem_id=change.problem,
        new_status=Status(PUBLIC_STATUS[change.state]),
        old_verdict=change.old_verdict,
        new_verdict=change.new_verdict,
        old_score=change.old_score,
        new_score=change.new_score,
        left_out=left_out(change),
    )


def left_out(change: ChangedPair) -> Literal["failed", "cancelled", "overtaken"] | None:
    if change.state is State.FAILED:
        return "failed"
    if change.state is State.CANCELLED:
        return "cancelled"
    return "overtaken" if change.overtaken else None
