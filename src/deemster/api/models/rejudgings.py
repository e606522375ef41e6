"""Request and response models of rejudgings."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from deemster.api.http.paging import Page
from deemster.api.models.field_types import RequestModel, ResponseModel, ShortText, Timestamp
from deemster.api.models.submissions import Status
from deemster.domain.lifecycle import PUBLIC_STATUS, State
from deemster.domain.verdict import Verdict
from deemster.pattern_messages import ONE_LINE, text_form
from deemster.pipeline.verdict.rejudging_set import Overview
from deemster.store.rejudgings import ChangedPair, Rejudging, VerdictPairCount

MAX_IDS: Final = 10_000
Reason = Annotated[str, text_form(ONE_LINE, min_length=1, max_length=1000)]


class RejudgingIn(RequestModel):
    """Selects the submissions that match all given fields; at least one field is needed."""

    problem: ShortText | None = None
    contest: ShortText | None = None
    verdict: Verdict | None = None
    language: ShortText | None = None
    user: ShortText | None = None
    """Id or name of the account."""
    submitted_from: Timestamp | None = None
    submitted_to: Timestamp | None = None
    """Selects submissions before this time."""
    ids: Annotated[list[ShortText], Field(min_length=1, max_length=MAX_IDS)] | None = None
    outdated: bool = False
    """Selects only submissions that were judged with test data that is no longer in force."""
    reason: Reason | None = None
    """Note for people who read the rejudging later."""

    @model_validator(mode="after")
    def _selects_something(self) -> Self:
        if all(not value for name, value in self if name != "reason"):
            raise ValueError("say which submissions: by problem, contest, verdict, ids …")
        return self


class RejudgingStatus(StrEnum):
    STAGING = "staging"
    """The trials are being created."""
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
    """Only submissions that were judged with test data that is no longer in force."""


class RejudgingItem(ResponseModel):
    id: str
    status: RejudgingStatus
    wanted: WantedOut
    matched: int
    """Submissions that matched when the rejudging was created."""
    reason: str | None
    made_by: str | None
    """Name of the admin; null if a command on the machine created it."""
    made_at: datetime
    settled_at: datetime | None


class RejudgingProgressOut(ResponseModel):
    trials: int
    waiting: int
    running: int
    done: int
    failed: int
    """Trials that could not be judged. They are not applied."""
    cancelled: int
    overtaken: int
    """Trials whose old submission was rejudged in another way. They are not applied."""
    applied: int


class UnderWayOut(ResponseModel):
    """Matching submissions that are still queued or running. They are not part of the set."""

    unended: int
    outdated: int
    """Those of them that use test data that is no longer in force. Rejudge them later."""


class CellOut(ResponseModel):
    old: Verdict | None
    """null if the old submission could not be judged."""
    new: Verdict
    pairs: int


class RejudgingOut(RejudgingItem):
    is_ready: bool
    """true if all trials have ended, so that the rejudging can be applied."""
    progress: RejudgingProgressOut
    under_way: UnderWayOut
    verdicts_changed: int
    scores_changed: int
    matrix: list[CellOut] | None = None


class RejudgingPage(Page[RejudgingItem]):
    """A page of rejudgings."""


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
    """Why the trial is not applied; null if it is."""


class ChangePage(Page[ChangeOut]):
    """A page of submissions whose result changes."""


def item_out(rejudging: Rejudging) -> RejudgingItem:
    return RejudgingItem.model_validate(item_fields(rejudging))


def rejudging_out(
    overview: Overview, matrix: Sequence[VerdictPairCount] | None = None
) -> RejudgingOut:
    progress = overview.progress
    shown = {
        **item_fields(overview.rejudging),
        "is_ready": overview.is_ready,
        "progress": {
            name: getattr(progress, name) for name in RejudgingProgressOut.model_fields
        },
        "under_way": asdict(overview.under_way),
        "verdicts_changed": progress.verdicts_changed,
        "scores_changed": progress.scores_changed,
    }
    if matrix is not None:
        shown["matrix"] = [
            {"old": cell.old, "new": cell.new, "pairs": cell.pairs} for cell in matrix
        ]
    return RejudgingOut.model_validate(shown)


def item_fields(rejudging: Rejudging) -> dict[str, Any]:
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
