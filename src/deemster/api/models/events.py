"""Request and response models of event streams."""

from datetime import datetime
from typing import Annotated, Final

from pydantic import Field, StringConstraints

from deemster.api.models.field_types import RequestModel, ResponseModel, ShortText
from deemster.domain.lifecycle import PUBLIC_STATUS
from deemster.domain.verdict import Verdict
from deemster.store.events import WorkEvent

MAX_STREAM_S: Final = 24 * 3600


class StreamQuery(RequestModel):
    last_event_id: Annotated[str, StringConstraints(max_length=64)] | None = None
    """Replaces the header Last-Event-ID for clients that can't send it."""
    seconds: Annotated[float, Field(ge=0, le=MAX_STREAM_S)] | None = None
    """Ends the stream after this time; reconnect with the last id. Default: no end."""


class EventsQuery(StreamQuery):
    user: ShortText | None = None
    """Admins only: the account, by id or name, whose events are sent."""
    everyone: Annotated[bool, Field(alias="all")] = False
    """Admins only: sends the events of all accounts."""


class EventOut(ResponseModel):
    """One step of a submission. GET /v1/submissions/{id} has the authoritative state (Q13)."""

    submission_id: str
    status: str
    """Same words as the status in GET /v1/submissions/{id}."""
    state: str
    """Exact state: `pending` is queued but not sent to the queue yet, `completed` is
    finished."""
    attempt: int
    at: datetime
    problem_id: str
    language: str
    user_id: str
    contest_id: str | None = None
    verdict: Verdict | None = None
    """From the event on that makes it known, like the following fields."""
    runtime_ms: int | None = None
    memory_kb: int | None = None
    passed_cases: int | None = None
    total_cases: int | None = None
    score: float | None = None
    max_score: float | None = None
    reason: str | None = None
    """Admins only: why the submission, or one of its stages, was queued again, or failed."""
    staged: bool | None = None
    """Admins only: true for a trial of a rejudging."""


def event_out(event: WorkEvent, *, for_admin: bool) -> EventOut:
    """Copies field by field, so that no new field of an event is shown by accident (A11)."""
    assert event.problem is not None, "executions have streams of their own"
    return EventOut(
        submission_id=event.work,
        status=PUBLIC_STATUS[event.state],
        state=event.state.lower(),
        attempt=event.attempt,
        at=event.at,
        problem_id=event.problem,
        language=event.language,
        user_id=event.account,
        contest_id=event.contest,
        verdict=event.verdict,
        runtime_ms=event.runtime_ms,
        memory_kb=event.memory_kb,
        passed_cases=event.passed_cases,
        total_cases=event.total_cases,
        score=event.score,
        max_score=event.max_score,
        reason=event.reason if for_admin else None,
        staged=True if for_admin and event.staged else None,
    )
