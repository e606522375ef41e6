"""Changes the state of submissions by one statement, guarded by state and attempt."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from deemster.domain.errors import LostRace
from deemster.domain.ids import SubmissionId
from deemster.domain.lifecycle import MOVES, TERMINAL, Event, State
from deemster.store.pool import Connection, statements

SQL = statements("lifecycle")
REDISPATCHING = frozenset({Event.RETRY, Event.RESCUE, Event.RESEND})
"""These events need a new job, so they increase the dispatch number."""


class StateChanged(LostRace):
    """The submission's state or attempt is no longer the expected one."""

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
        raise StateChanged(
            f"{submission} was changed since attempt {attempt}: the event {event} is dropped."
        )
    return moved[submission]


async def advance_all(
    connection: Connection,
    event: Event,
    attempts: Mapping[SubmissionId, int],
    *,
    reason: str | None = None,
) -> dict[SubmissionId, Step]:
    """Returns the submissions that were advanced; the others had changed meanwhile."""
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
