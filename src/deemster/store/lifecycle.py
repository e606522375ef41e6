"""The one way in which a state changes: guarded by the state before, and by the attempt."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from deemster.domain.errors import LostRace
from deemster.domain.ids import SubmissionId
from deemster.domain.lifecycle import MOVES, TERMINAL, Event, State
from deemster.store.pool import Connection
from deemster.store.queries import statements

SQL = statements("lifecycle")
REDISPATCHING = frozenset({Event.RETRY, Event.RESCUE, Event.RESEND})
"""They need a new job, so they give it a new number."""


class StateChanged(LostRace):
    """Its state or its attempt is another by now."""

    code: ClassVar[str] = "moved_on"


@dataclass(frozen=True, slots=True)
class Step:
    attempt: int
    dispatch: int


async def advance(
    connection: Connection,
    event: Event,
    submission: SubmissionId,
    attempt: int,
    *,
    reason: str | None = None,
) -> Step:
    moved = await advance_all(connection, event, {submission: attempt}, reason=reason)
    if submission not in moved:
        raise StateChanged(f"{submission} is not where attempt {attempt} left it: no {event}.")
    return moved[submission]


async def advance_all(
    connection: Connection,
    event: Event,
    attempts: Mapping[SubmissionId, int],
    *,
    reason: str | None = None,
) -> dict[SubmissionId, Step]:
    """Those that could be moved, with their attempt and dispatch; the others had moved on."""
    move = MOVES[event]
    rows = SQL.advance(
        connection,
        ids=list(attempts),
        attempts=list(attempts.values()),
        sources=sorted(move.sources),
        target=move.target,
        bump=int(move.bump),
        dispatch_bump=int(event in REDISPATCHING),
        ends=move.target in TERMINAL,
        event=event,
        reason=reason,
    )
    return {
        SubmissionId(row["id"]): Step(row["attempt"], row["dispatch"]) async for row in rows
    }


async def lock_state(
    connection: Connection, submission: SubmissionId
) -> tuple[State, int] | None:
    row = await SQL.lock_state(connection, id=submission)
    return (State(row["state"]), row["attempt"]) if row else None
