"""The line as the database knows it, whatever the queue store says."""

from dataclasses import dataclass

from deemster.store.pool import Connection
from deemster.store.queries import statements
from deemster.store.workers import rate_per_s

SQL = statements("queue_counts")


@dataclass(frozen=True, slots=True)
class QueueCounts:
    pending: int
    """Accepted, and not yet in the queue store."""
    queued: int
    running: int
    oldest_s: float | None
    """For how long the one that came first has waited; None: none waits."""
    per_s: float | None
    """How many a second the workers get done; None: nothing is known of that."""

    @property
    def waiting(self) -> int:
        return self.pending + self.queued

    @property
    def done_in_s(self) -> float | None:
        """Until all that wait are done, at that rate."""
        return self.waiting / self.per_s if self.per_s else None


async def line(connection: Connection) -> QueueCounts:
    waits = await SQL.line(connection)
    return QueueCounts(
        pending=waits["pending"],
        queued=waits["queued"],
        running=await SQL.running(connection),
        oldest_s=waits["oldest_s"],
        per_s=await rate_per_s(connection),
    )
