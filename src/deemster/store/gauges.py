"""What piles up and who works on it, as numbers at one moment: for whoever watches (O3)."""

from dataclasses import dataclass

from deemster.store.pool import Connection
from deemster.store.queries import statements
from deemster.store.workers import SILENT_S

SQL = statements("gauges")


@dataclass(frozen=True, slots=True)
class Gauges:
    waiting: int
    running: int
    dead_letters: int
    """Nobody dealt with them yet."""
    outbox_unsent: int
    webhooks_waiting: int
    """Not tried yet."""
    webhooks_retrying: int
    webhooks_failed: int
    """Within a day."""
    webhooks_overdue_s: float
    """The one that is due for the longest time, and that nobody carries."""
    workers: int
    draining: int
    """Of the workers."""
    slots: int
    """Of those that take work."""
    busy: int


async def read(connection: Connection) -> Gauges:
    return Gauges(**await SQL.read_gauges(connection, silent_s=SILENT_S))
