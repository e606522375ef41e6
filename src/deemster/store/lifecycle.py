"""Changes the state of submissions by one statement, guarded by state, stage and attempt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from deemster.domain.errors import LostRace
from deemster.domain.ids import WorkerId, WorkId
from deemster.domain.job import Task
from deemster.domain.lifecycle import KEEPS_STAGE, MOVES, Event, State
from deemster.store.pool import Connection, statements

SQL = statements("lifecycle")
W = TypeVar("W", bound=WorkId)
REDISPATCHING = frozenset(
    {
        *(Event.RETRY, Event.RESCUE, Event.RESEND),
        *(Event.STAGE_RETRY, Event.STAGE_RESCUE, Event.STAGE_RESEND),
    }
)
"""These events need a new job, so they increase the dispatch number."""


class StateChanged(LostRace):
    """The submission's state, stage or attempt is no longer the expected one."""

    code: ClassVar[str] = "moved_on"


@dataclass(frozen=True, slots=True)
class AttemptNumbers:
    """The numbers of a submission after a change of its state."""

    attempt: int
    dispatch: int


@dataclass(frozen=True, slots=True)
class NewLease:
    """Who starts an attempt, and the time without heartbeats after which it is rescued."""

    worker: WorkerId
    lease_s: float


async def advance(
    connection: Connection,
    event: Event,
    work: WorkId,
    attempt: int,
    *,
    reason: str | None = None,
    in_stage: Task | None = None,
    lease: NewLease | None = None,
    stages: Sequence[Task] | None = None,
) -> AttemptNumbers:
    moved = await advance_all(
        connection,
        event,
        {work: attempt},
        reason=reason,
        in_stage=in_stage,
        lease=lease,
        stages=stages,
    )
    if work not in moved:
        raise StateChanged(
            f"{work} was changed since attempt {attempt}: the event {event} is dropped."
        )
    return moved[work]


async def advance_all(
    connection: Connection,
    event: Event,
    attempts: Mapping[W, int],
    *,
    reason: str | None = None,
    in_stage: Task | None = None,
    lease: NewLease | None = None,
    stages: Sequence[Task] | None = None,
) -> dict[W, AttemptNumbers]:
    """Returns the submissions that were advanced; the others had changed meanwhile.

    `in_stage` is the stage that they must be in; None: they must be in none. One attempt may
    end a stage and queue the next one, so state and attempt do not tell stages apart.
    `stages` are those that are left, for an event that begins the first of them.
    """
    move = MOVES[event]
    rows = SQL.advance(
        connection,
        ids=list(attempts),
        attempts=list(attempts.values()),
        sources=sorted(move.sources),
        target=move.target,
        bump=int(move.bump),
        dispatch_bump=int(event in REDISPATCHING),
        in_stage=in_stage,
        keeps_stage=event in KEEPS_STAGE,
        stages=list(stages) if stages else None,
        starts=event is Event.START,
        ends=move.ends,
        releases=move.ends or stages is not None or event in REDISPATCHING,
        worker=lease.worker if lease else None,
        lease_s=lease.lease_s if lease else None,
        event=event,
        reason=reason,
    )
    ids = {str(each): each for each in attempts}
    return {
        ids[row["id"]]: AttemptNumbers(row["attempt"], row["dispatch"]) async for row in rows
    }


async def lock_state(connection: Connection, work: WorkId) -> tuple[State, int] | None:
    row = await SQL.lock_state(connection, id=work)
    return (State(row["state"]), row["attempt"]) if row else None
