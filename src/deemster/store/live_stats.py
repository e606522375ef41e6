"""How the service does at this moment: for those who watch it."""

from dataclasses import dataclass

from deemster.store.pool import Connection
from deemster.store.queries import statements
from deemster.store.workers import SILENT_S

SQL = statements("live_stats")


@dataclass(frozen=True, slots=True)
class LiveStats:
    waiting: int
    running: int
    judged: int
    """Since the event that was given."""
    newest: int
    """The event up to which they were counted."""
    workers: int
    slots: int


async def take(connection: Connection, *, after: int) -> LiveStats:
    row = await SQL.read_live_stats(connection, after=after, silent_s=SILENT_S)
    return LiveStats(**row)


async def newest(connection: Connection) -> int:
    return int(await SQL.newest_event(connection))
