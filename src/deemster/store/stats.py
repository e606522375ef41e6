"""Counts of what waits, runs and failed, for the API, the metrics and the terminal (O3)."""

from collections.abc import Mapping
from dataclasses import dataclass

from deemster.store.pool import Connection, statements
from deemster.store.workers import SILENT_S, rate_per_s

SQL = statements("stats")


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """From the database alone, even if the queue store is down."""

    pending: int
    """Accepted, and not yet in the queue store."""
    queued: int
    running: int
    oldest_s: float | None
    """How long the oldest has waited; None: none waits."""
    per_s: float | None
    """How many submissions the workers finish per second; None: unknown."""

    @property
    def waiting(self) -> int:
        return self.pending + self.queued

    @property
    def done_in_s(self) -> float | None:
        """Time until all that wait are done, at that rate."""
        return self.waiting / self.per_s if self.per_s else None


async def read_queue_counts(connection: Connection) -> QueueCounts:
    row = await SQL.read_queue_counts(connection)
    return QueueCounts(**row, per_s=await rate_per_s(connection))


@dataclass(frozen=True, slots=True)
class LiveStats:
    """What `deemster up` shows every second."""

    waiting: int
    running: int
    judged: int
    """Since the event that was given."""
    newest: int
    """The last event that was counted; the next call starts there."""
    workers: int
    slots: int


async def read_live_stats(connection: Connection, *, after: int) -> LiveStats:
    return LiveStats(**await SQL.read_live_stats(connection, after=after, silent_s=SILENT_S))


async def newest_event(connection: Connection) -> int:
    return int(await SQL.newest_event(connection))


@dataclass(frozen=True, slots=True)
class Gauges:
    """What Prometheus reads."""

    waiting: int
    running: int
    in_stages: int
    """Submissions with a verdict whose stages have not ended."""
    dead_letters: int
    """Not resolved yet."""
    outbox_unsent: int
    oldest_waits_s: Mapping[str, float]
    """How long the oldest submission, execution and analysis have waited, by kind."""
    webhooks_waiting: int
    """Not tried yet."""
    webhooks_retrying: int
    webhooks_failed: int
    """Within a day."""
    webhooks_overdue_s: float
    """How long the oldest unclaimed delivery has been due."""
    workers: int
    draining: int
    slots: int
    """Of workers that take work."""
    busy: int


async def read_gauges(connection: Connection) -> Gauges:
    return Gauges(**await SQL.read_gauges(connection, silent_s=SILENT_S))
