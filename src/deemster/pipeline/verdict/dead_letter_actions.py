"""Requeues or discards dead letters for admins, each once, and keeps their history (Q7)."""

from typing import Final

from deemster.domain.errors import Conflict, NotFound
from deemster.domain.ids import SubmissionId, kind_of
from deemster.domain.submission import AcceptedSubmission
from deemster.pipeline.verdict.rejudge import replace
from deemster.store import audit, dead_letters
from deemster.store.audit import Actor
from deemster.store.dead_letters import DeadLetter
from deemster.store.pool import Connection

ACTS: Final = {"requeued": "requeue", "discarded": "discard"}


async def requeue(connection: Connection, number: int, *, actor: Actor) -> AcceptedSubmission:
    """Creates a new submission that replaces the failed one."""
    found = await open_dead_letter(connection, number)
    if kind_of(found.work) == "execution":
        raise Conflict(
            f"Dead letter {number} is an execution, which is not judged again: its user can "
            "run the program again. Discard the dead letter."
        )
    accepted = await replace(connection, SubmissionId(found.work))
    await settle(connection, found, "requeued", actor, accepted)
    return accepted


async def discard(connection: Connection, number: int, *, actor: Actor) -> None:
    await settle(connection, await open_dead_letter(connection, number), "discarded", actor)


async def open_dead_letter(connection: Connection, number: int) -> DeadLetter:
    found = await dead_letters.get(connection, number)
    if found is None:
        raise NotFound(f"There is no dead letter {number}.")
    if found.outcome is not None:
        raise Conflict(f"Dead letter {number} was already {found.outcome}.")
    return found


async def settle(
    connection: Connection,
    dead_letter: DeadLetter,
    outcome: str,
    actor: Actor,
    new: AcceptedSubmission | None = None,
) -> None:
    new_id = new.id if new else None
    done = await dead_letters.resolve(
        connection, dead_letter.id, outcome, by=actor.name, requeued_as=new_id
    )
    if not done:
        raise Conflict(
            f"Dead letter {dead_letter.id} was handled by another admin at the same time."
        )
    details = {kind_of(dead_letter.work): dead_letter.work} | (
        {"new": new_id} if new_id else {}
    )
    await audit.record(
        connection, actor, f"dead_letter.{ACTS[outcome]}", str(dead_letter.id), **details
    )
