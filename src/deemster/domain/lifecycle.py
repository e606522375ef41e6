"""The states of a submission and every transition between them (S1)."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class State(StrEnum):
    PENDING = "PENDING"
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    ANALYZING = "ANALYZING"
    AI_EVALUATING = "AI_EVALUATING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


TERMINAL: Final = frozenset({State.COMPLETED, State.FAILED, State.CANCELLED})
WAITING: Final = frozenset({State.PENDING, State.QUEUED})


class Event(StrEnum):
    PUBLISH = "publish"
    """The submission's job was put into the queue."""
    START = "start"
    RETRY = "retry"
    """The judge failed, not the program: the submission is queued for another attempt."""
    RESCUE = "rescue"
    """The worker that judged the submission stopped sending heartbeats."""
    RESEND = "resend"
    """The queue lost the submission's job."""
    ANALYZE = "analyze"
    EVALUATE = "evaluate"
    COMPLETE = "complete"
    FAIL = "fail"
    """The judge gave up on the submission (S3)."""
    CANCEL = "cancel"


SUBMIT: Final = "submit"
"""The event that creates a submission, which has no state before it."""
APPLY: Final = "apply"
"""The event by which a rejudged submission replaces the old one; its state stays."""


@dataclass(frozen=True, slots=True)
class Move:
    sources: frozenset[State]
    target: State
    bump: bool = False
    """The transition begins a new attempt, so that writes of the previous one are rejected."""


def move(*sources: State, to: State, bump: bool = False) -> Move:
    return Move(frozenset(sources), to, bump)


MOVES: Final[dict[Event, Move]] = {
    Event.PUBLISH: move(State.PENDING, to=State.QUEUED),
    Event.START: move(State.QUEUED, to=State.RUNNING, bump=True),
    Event.RETRY: move(State.RUNNING, to=State.QUEUED),
    Event.RESCUE: move(State.RUNNING, to=State.QUEUED),
    Event.RESEND: move(State.QUEUED, to=State.QUEUED),
    Event.ANALYZE: move(State.RUNNING, to=State.ANALYZING),
    Event.EVALUATE: move(State.ANALYZING, to=State.AI_EVALUATING),
    Event.COMPLETE: move(
        State.RUNNING, State.ANALYZING, State.AI_EVALUATING, to=State.COMPLETED
    ),
    Event.FAIL: move(State.RUNNING, to=State.FAILED),
    Event.CANCEL: move(State.PENDING, State.QUEUED, State.RUNNING, to=State.CANCELLED),
}

TERMINAL_EVENTS: Final = frozenset(
    event for event, each in MOVES.items() if each.target in TERMINAL
)

PUBLIC_STATUS: Final[dict[State, str]] = {
    **{state: state.value.lower() for state in State},
    State.PENDING: "queued",
    State.COMPLETED: "finished",
}
"""The states' names in the API (S4), which doesn't tell PENDING from QUEUED."""
