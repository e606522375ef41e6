"""Cancels a submission; of a cancel and a concurrent start or verdict, one wins (A10)."""

from deemster.domain.errors import Conflict, NotFound
from deemster.domain.ids import SubmissionId
from deemster.domain.lifecycle import MOVES, PUBLIC_STATUS, Event, State
from deemster.store import audit, leases
from deemster.store.audit import Actor
from deemster.store.lifecycle import advance, lock_state
from deemster.store.notifications import notify_event, notify_stop
from deemster.store.pool import Pool, transaction


async def cancel(pool: Pool, submission: SubmissionId, *, actor: Actor | None = None) -> State:
    """Returns the new state. The worker kills a running program.

    An actor, who is not the owner, is recorded in the audit log.
    """
    async with transaction(pool) as connection:
        found = await lock_state(connection, submission)
        if found is None:
            raise NotFound(f"There is no submission {submission}.")
        state, attempt = found
        if state not in MOVES[Event.CANCEL].sources:
            raise Conflict(
                f"{submission} is {PUBLIC_STATUS[state]}: it can no longer be cancelled."
            )
        await advance(connection, Event.CANCEL, submission, attempt)
        await leases.release(connection, submission)
        if state is State.RUNNING:
            await notify_stop(connection, submission)
        await notify_event(connection)
        if actor is not None:
            await audit.record(connection, actor, "submission.cancel", submission, was=state)
    return State.CANCELLED
