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
IN_STAGE: Final = frozenset({State.ANALYZING, State.AI_EVALUATING})
"""The submission has its verdict, and stages follow that never change it (S5)."""
SETTLED: Final = TERMINAL | IN_STAGE
"""The outcome of the run is known: clients that wait for a verdict are answered."""


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
    """The submission's analysis was put into the outbox."""
    EVALUATE = "evaluate"
    """The submission's evaluation was put into the outbox."""
    FINALIZE = "finalize"
    """The last stage was ended, so the submission's final job was put into the outbox."""
    STAGE_START = "stage_start"
    STAGE_RETRY = "stage_retry"
    """The stage failed, and is tried again."""
    STAGE_RESCUE = "stage_rescue"
    """The worker that ran the stage stopped sending heartbeats."""
    STAGE_RESEND = "stage_resend"
    """The queue lost the stage's job."""
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
    target: State | None
    """None: the state stays the same."""
    bump: bool = False
    """The transition begins a new attempt, so that writes of the previous one are rejected."""

    @property
    def ends(self) -> bool:
        return self.target in TERMINAL


def move(*sources: State, to: State | None, bump: bool = False) -> Move:
    return Move(frozenset(sources), to, bump)


MOVES: Final[dict[Event, Move]] = {
    Event.PUBLISH: move(State.PENDING, to=State.QUEUED),
    Event.START: move(State.QUEUED, to=State.RUNNING, bump=True),
    Event.RETRY: move(State.RUNNING, to=State.QUEUED),
    Event.RESCUE: move(State.RUNNING, to=State.QUEUED),
    Event.RESEND: move(State.QUEUED, to=State.QUEUED),
    Event.ANALYZE: move(State.RUNNING, to=State.ANALYZING),
    Event.EVALUATE: move(State.RUNNING, State.ANALYZING, to=State.AI_EVALUATING),
    Event.FINALIZE: move(*IN_STAGE, to=None),
    Event.STAGE_START: move(*IN_STAGE, to=None, bump=True),
    Event.STAGE_RETRY: move(*IN_STAGE, to=None),
    Event.STAGE_RESCUE: move(*IN_STAGE, to=None),
    Event.STAGE_RESEND: move(*IN_STAGE, to=None),
    Event.COMPLETE: move(
        State.RUNNING, State.ANALYZING, State.AI_EVALUATING, to=State.COMPLETED
    ),
    Event.FAIL: move(State.RUNNING, to=State.FAILED),
    Event.CANCEL: move(State.PENDING, State.QUEUED, State.RUNNING, to=State.CANCELLED),
}

TERMINAL_EVENTS: Final = frozenset(event for event, each in MOVES.items() if each.ends)
KEEPS_STAGE: Final = frozenset(
    {Event.STAGE_START, Event.STAGE_RETRY, Event.STAGE_RESCUE, Event.STAGE_RESEND}
)
"""Events within a stage. All others begin a stage, or have none."""

PUBLIC_STATUS: Final[dict[State, str]] = {
    **{state: state.value.lower() for state in State},
    State.PENDING: "queued",
    State.COMPLETED: "finished",
}
"""The states' names in the API (S4), which doesn't tell PENDING from QUEUED."""
