"""Counts of what is there: for those who must know that nothing was lost."""

from collections.abc import Sequence
from dataclasses import dataclass

from deemster.domain.ids import SubmissionId
from deemster.store.pool import Connection
from deemster.store.queries import statements

SQL = statements("consistency")


@dataclass(frozen=True, slots=True)
class ConsistencyCounts:
    rows: int
    events: int
    jobs: int
    sources: int
    judged: int
    """Ended with a verdict."""
    unjudged: int
    """Ended without one."""
    ends: int
    """Events that tell of an end."""


async def count_rows(connection: Connection, ids: Sequence[str]) -> ConsistencyCounts:
    return ConsistencyCounts(**await SQL.count_rows(connection, ids=list(ids)))


async def list_waiting(connection: Connection, limit: int) -> list[SubmissionId]:
    """Those that wait, the next one first."""
    return [SubmissionId(row["id"]) async for row in SQL.list_waiting(connection, limit=limit)]


async def list_starts(
    connection: Connection, since_s: float
) -> list[tuple[SubmissionId, float]]:
    """What was begun since then, in that order, with the time in seconds since the epoch."""
    rows = SQL.list_starts(connection, since_s=since_s)
    return [(SubmissionId(row["id"]), row["started_s"]) async for row in rows]


@dataclass(frozen=True, slots=True)
class WaitingTime:
    of_hog: bool
    """Of the account that was asked about."""
    submitted_s: float
    started_s: float
    """0: not yet."""


async def list_waits(connection: Connection, hog: str, since_s: float) -> list[WaitingTime]:
    """Who was begun when, of all that came since then."""
    rows = SQL.list_waits(connection, hog=hog, since_s=since_s)
    return [
        WaitingTime(row["of_hog"], row["submitted_s"], row["started_s"]) async for row in rows
    ]
