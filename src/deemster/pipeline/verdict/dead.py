"""What an admin does with dead letters: once each, and the story is kept (Q7)."""

from deemster.domain.errors import Conflict
from deemster.domain.submission import Accepted
from deemster.pipeline.verdict.rejudge import replace
from deemster.store import dead_letters
from deemster.store.dead_letters import DeadLetter
from deemster.store.pool import Connection, Pool, transaction


async def requeue(pool: Pool, letter: int, *, by: str) -> Accepted:
    """A new submission in place of the one that failed."""
    async with transaction(pool) as connection:
        found = await open_letter(connection, letter)
        accepted = await replace(connection, found.submission)
        await mark(connection, letter, "requeued", by, accepted)
    return accepted


async def discard(pool: Pool, letter: int, *, by: str) -> None:
    async with transaction(pool) as connection:
        await open_letter(connection, letter)
        await mark(connection, letter, "discarded", by, None)


async def open_letter(connection: Connection, letter: int) -> DeadLetter:
    found = await dead_letters.one(connection, letter)
    if found is None or found.outcome is not None:
        raise Conflict(f"Dead letter {letter} is not there, or was dealt with already.")
    return found


async def mark(
    connection: Connection, letter: int, outcome: str, by: str, new: Accepted | None
) -> None:
    done = await dead_letters.settle(
        connection, letter, outcome, by=by, requeued_as=new.id if new else None
    )
    if not done:
        raise Conflict(f"Dead letter {letter} was dealt with by another just now.")
