"""What an admin does with dead letters: once each, and the story is kept (Q7)."""

from typing import Final

from deemster.domain.errors import Conflict, NotFound
from deemster.domain.submission import AcceptedSubmission
from deemster.pipeline.verdict.rejudge import replace
from deemster.store import audit, dead_letters
from deemster.store.audit import Actor
from deemster.store.dead_letters import DeadLetter
from deemster.store.pool import Connection, Pool, transaction

ACTS: Final = {"requeued": "requeue", "discarded": "discard"}


async def requeue(pool: Pool, letter: int, *, actor: Actor) -> AcceptedSubmission:
    """A new submission in place of the one that failed."""
    async with transaction(pool) as connection:
        found = await open_letter(connection, letter)
        accepted = await replace(connection, found.submission)
        await mark(connection, found, "requeued", actor, accepted)
    return accepted


async def discard(pool: Pool, letter: int, *, actor: Actor) -> None:
    async with transaction(pool) as connection:
        await mark(connection, await open_letter(connection, letter), "discarded", actor)


async def open_letter(connection: Connection, letter: int) -> DeadLetter:
    found = await dead_letters.one(connection, letter)
    if found is None:
        raise NotFound(f"There is no dead letter {letter}.")
    if found.outcome is not None:
        raise Conflict(f"Dead letter {letter} was dealt with already: it was {found.outcome}.")
    return found


async def mark(
    connection: Connection,
    letter: DeadLetter,
    outcome: str,
    actor: Actor,
    new: AcceptedSubmission | None = None,
) -> None:
    new_id = new.id if new else None
    done = await dead_letters.settle(
        connection, letter.id, outcome, by=actor.name, requeued_as=new_id
    )
    if not done:
        raise Conflict(f"Dead letter {letter.id} was dealt with by another just now.")
    told = {"submission": letter.submission} | ({"new": new_id} if new_id else {})
    await audit.note(connection, actor, f"dead_letter.{ACTS[outcome]}", str(letter.id), **told)
