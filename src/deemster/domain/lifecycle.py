"""The states of a submission, and every step between them (S1)."""

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
    """Its job is on the road."""
    START = "start"
    RETRY = "retry"
    """The judge failed, not the program: it goes back, for another attempt."""
    RESCUE = "rescue"
    """Its worker was heard of no more."""
    RESEND = "resend"
    """Its job was lost by the queue."""
    ANALYZE = "analyze"
    EVALUATE = "evaluate"
    COMPLETE = "complete"
    FAIL = "fail"
    """The judge could not judge it (S3)."""
    CANCEL = "cancel"


SUBMIT: Final = "submit"
"""The event that makes a submission; it has no state to come from."""
APPLY: Final = "apply"
"""The event by which a trial takes the place of an older one; its state stays as it is."""


@dataclass(frozen=True, slots=True)
class Move:
    sources: frozenset[State]
    target: State
    bump: bool = False
    """It begins a new attempt, which fences off all that belongs to the one before."""


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
"""What `/v1/submissions` calls them (S4); whether the job is on the road is our concern."""
