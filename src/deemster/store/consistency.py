"""Counts rows for benchmarks and kill tests, which check that no submission was lost."""

from collections.abc import Sequence
from dataclasses import dataclass

from deemster.domain.ids import SubmissionId
from deemster.domain.job import Task
from deemster.store.pool import Connection, statements

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
    """Ended without a verdict."""
    ends: int
    """Events that end a submission."""


async def count_rows(connection: Connection, ids: Sequence[str]) -> ConsistencyCounts:
    return ConsistencyCounts(**await SQL.count_rows(connection, ids=list(ids)))


async def count_unended(connection: Connection, ids: Sequence[str]) -> int:
    """For those who ask often: it costs much less than `count_rows`."""
    return int(await SQL.count_unended(connection, ids=list(ids)))


async def list_waiting(connection: Connection, limit: int) -> list[SubmissionId]:
    """Lists submissions that wait, in the order of the queue."""
    return [SubmissionId(row["id"]) async for row in SQL.list_waiting(connection, limit=limit)]


async def list_starts(
    connection: Connection, since_s: float
) -> list[tuple[SubmissionId, float]]:
    """Lists submissions in the order of their start, with its time since the epoch."""
    rows = SQL.list_starts(connection, since_s=since_s)
    return [(SubmissionId(row["id"]), row["started_s"]) async for row in rows]


async def judged_s(connection: Connection, ids: Sequence[str]) -> float:
    """The time from the first start of these submissions to their last verdict."""
    return float(await SQL.judged_s(connection, ids=list(ids)))


async def last_end_s(connection: Connection, ids: Sequence[str]) -> float:
    """The time when the last of these submissions ended, since the epoch."""
    return float(await SQL.last_end_s(connection, ids=list(ids)))


async def list_commits(connection: Connection, ids: Sequence[str]) -> dict[str, float]:
    """Returns the time when each result was committed, since the epoch."""
    rows = SQL.list_commits(connection, ids=list(ids))
    return {row["work_id"]: row["committed_s"] async for row in rows}


@dataclass(frozen=True, slots=True)
class WaitingTime:
    of_hog: bool
    submitted_s: float
    started_s: float
    """0: not started yet."""


async def list_waits(connection: Connection, hog: str, since_s: float) -> list[WaitingTime]:
    """Lists when submissions since then came and started; `hog` is an account's name."""
    rows = SQL.list_waits(connection, hog=hog, since_s=since_s)
    return [
        WaitingTime(row["of_hog"], row["submitted_s"], row["started_s"]) async for row in rows
    ]


@dataclass(frozen=True, slots=True)
class SubmissionInStage:
    """A submission with a verdict whose stages have not ended."""

    id: SubmissionId
    attempt: int
    stage: Task


async def list_in_stages(connection: Connection) -> list[SubmissionInStage]:
    rows = SQL.list_in_stages(connection)
    return [
        SubmissionInStage(SubmissionId(row["id"]), row["attempt"], Task(row["stage"]))
        async for row in rows
    ]


@dataclass(frozen=True, slots=True)
class DatabaseActivity:
    """What the server has counted; connections report some seconds late, and when they end."""

    transactions: int
    log_syncs: int


async def database_activity(connection: Connection) -> DatabaseActivity:
    return DatabaseActivity(**await SQL.database_activity(connection))
