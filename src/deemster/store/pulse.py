"""How the service does at this moment: for those who watch it."""

from dataclasses import dataclass

from deemster.store.named import statements
from deemster.store.pool import Connection
from deemster.store.workers import SILENT_S

SQL = statements("pulse")


@dataclass(frozen=True, slots=True)
class Pulse:
    waiting: int
    running: int
    judged: int
    """Since the event that was given."""
    newest: int
    """The event up to which they were counted."""
    workers: int
    slots: int


async def take(connection: Connection, *, after: int) -> Pulse:
    row = await SQL.pulse(connection, after=after, silent_s=SILENT_S)
    return Pulse(**row)


async def newest(connection: Connection) -> int:
    return int(await SQL.newest(connection))
