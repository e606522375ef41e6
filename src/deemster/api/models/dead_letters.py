"""Request and response models of dead letters."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from deemster.api.http.paging import Page, PageQuery
from deemster.api.models.field_types import ResponseModel
from deemster.domain.ids import kind_of
from deemster.store.dead_letters import DeadLetter, HistoryEvent


class DeadLetterQuery(PageQuery):
    state: Literal["open", "all"] = "open"
    """`open` lists the dead letters that no admin has requeued or discarded."""


class DeadLetterItem(ResponseModel):
    number: int
    submission_id: str | None = None
    execution_id: str | None = None
    analysis_id: str | None = None
    """Of an analysis that was requested for a program which had ended."""
    task: str
    """What failed, such as `submission:run` or `submission:analyze`."""
    attempts: int
    error: str
    died_at: datetime
    outcome: Literal["requeued", "discarded"] | None
    """null while the dead letter is open."""
    settled_at: datetime | None
    settled_by: str | None
    requeued_as: str | None
    """Id of the new submission that replaced the failed one, or of the repeated analysis."""


class StepOut(ResponseModel):
    event: str
    state: str
    attempt: int
    reason: str | None
    at: datetime


class DeadLetterOut(DeadLetterItem):
    context: dict[str, Any]
    history: list[StepOut]
    """Events of the submission, oldest first."""


class DeadLetterPage(Page[DeadLetterItem]):
    """A page of dead letters."""


def dead_letter_item(letter: DeadLetter) -> DeadLetterItem:
    return DeadLetterItem(**item_fields(letter))


def dead_letter_out(letter: DeadLetter, steps: Sequence[HistoryEvent]) -> DeadLetterOut:
    return DeadLetterOut(
        **item_fields(letter),
        context=dict(letter.context),
        history=[StepOut.model_validate(step, from_attributes=True) for step in steps],
    )


def item_fields(letter: DeadLetter) -> dict[str, Any]:
    return {
        "number": letter.id,
        f"{kind_of(letter.work)}_id": letter.work,
        "task": letter.task,
        "attempts": letter.attempt,
        "error": letter.error,
        "died_at": letter.died_at,
        "outcome": letter.outcome,
        "settled_at": letter.settled_at,
        "settled_by": letter.settled_by,
        "requeued_as": letter.requeued_as,
    }
