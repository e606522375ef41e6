"""An event as a client may see it, written once for all who get it."""

from datetime import datetime

from deemster.api.feed.frames import Frame
from deemster.api.models.kinds import ResponseModel
from deemster.domain.lifecycle import PUBLIC_STATUS
from deemster.domain.verdict import Verdict
from deemster.store.events import EventCursor, SubmissionEvent


class EventOut(ResponseModel):
    """A hint: what holds is what GET /v1/submissions/{id} says (Q13)."""

    submission_id: str
    status: str
    """As GET /v1/submissions/{id} calls it."""
    state: str
    """The same to the letter: `pending` is not on the road yet, `completed` is finished."""
    attempt: int
    at: datetime
    problem_id: str
    language: str
    user_id: str
    contest_id: str | None = None
    verdict: Verdict | None = None
    """With the last one, as all that follows."""
    runtime_ms: int | None = None
    memory_kb: int | None = None
    passed_cases: int | None = None
    total_cases: int | None = None
    score: float | None = None
    max_score: float | None = None
    reason: str | None = None
    """For admins: why it went back, or failed."""
    staged: bool | None = None
    """For admins: true for one that is judged on trial."""


class EventMessage:
    __slots__ = ("_frames", "event")

    def __init__(self, event: SubmissionEvent) -> None:
        self.event = event
        self._frames: dict[bool, bytes] = {}

    @property
    def mark(self) -> EventCursor:
        return self.event.cursor

    def frame(self, *, for_admin: bool) -> bytes:
        made = self._frames.get(for_admin)
        if made is None:
            made = self._frames[for_admin] = frame_of(self.event, for_admin=for_admin)
        return made


def frame_of(event: SubmissionEvent, *, for_admin: bool) -> bytes:
    data = event_out(event, for_admin=for_admin).model_dump_json(exclude_none=True)
    return Frame(f"submission.{PUBLIC_STATUS[event.state]}", data, event.cursor).encoded


def event_out(event: SubmissionEvent, *, for_admin: bool) -> EventOut:
    """Field by field, so that nothing that is added to an event is shown by accident (A11)."""
    return EventOut(
        submission_id=event.submission,
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
