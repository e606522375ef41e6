"""Cancels submissions and executions; of a cancel and a start or verdict, one wins (A10)."""

from deemster.domain.errors import Conflict, NotFound
from deemster.domain.ids import SubmissionId, WorkId, kind_of
from deemster.domain.lifecycle import MOVES, PUBLIC_STATUS, Event, State
from deemster.store import audit, submission_inserts
from deemster.store.audit import Actor
from deemster.store.lifecycle import advance, lock_state
from deemster.store.notifications import notify_event, notify_stop
from deemster.store.pool import Connection, Pool, transaction


async def cancel(pool: Pool, work: WorkId, *, actor: Actor | None = None) -> State:
    """Returns the new state. The worker kills a running program.

    An actor, who is not the owner, is recorded in the audit log.
    """
    async with transaction(pool) as connection:
        state = await cancel_in(connection, work)
        if actor is not None:
            await audit.record(connection, actor, f"{kind_of(work)}.cancel", work, was=state)
    return State.CANCELLED


async def cancel_in(connection: Connection, work: WorkId) -> State:
    """Cancels within the caller's transaction; returns the state before."""
    found = await lock_state(connection, work)
    if found is None:
        raise NotFound(f"There is no {kind_of(work)} {work}.")
    state, attempt = found
    if state not in MOVES[Event.CANCEL].sources:
        raise Conflict(f"{work} is {PUBLIC_STATUS[state]}: it can no longer be cancelled.")
    await advance(connection, Event.CANCEL, work, attempt)
    if kind_of(work) == "submission":
        await submission_inserts.forget_interval(connection, SubmissionId(work))
    if state is State.RUNNING:
        await notify_stop(connection, work)
    await notify_event(connection, settled=work)
    return state
