"""Leases: which worker judges which submission, and how far it is (Q5, Q6, J10)."""

from collections.abc import Mapping
from dataclasses import dataclass

from deemster.domain.ids import AccountId, SubmissionId, WorkerId
from deemster.domain.submission import JudgingProgress
from deemster.store.pool import Connection, statements

SQL = statements("leases")


@dataclass(frozen=True, slots=True)
class StaleLease:
    submission: SubmissionId
    attempt: int
    worker: WorkerId | None


@dataclass(frozen=True, slots=True)
class RunningCounts:
    """How many submissions are being judged."""

    total: int
    of_language: int
    of_account: int


async def take(
    connection: Connection,
    submission: SubmissionId,
    attempt: int,
    worker: WorkerId,
    lease_s: float,
) -> None:
    await SQL.take(
        connection, id=submission, attempt=attempt, worker=worker, lease_s=float(lease_s)
    )


async def renew(
    connection: Connection,
    worker: WorkerId,
    running: Mapping[tuple[SubmissionId, int], JudgingProgress],
) -> set[SubmissionId]:
    """Returns what this worker still holds; the rest was rescued or cancelled."""
    rows = SQL.renew(
        connection,
        worker=worker,
        ids=[submission for submission, _ in running],
        attempts=[attempt for _, attempt in running],
        done=[progress.done for progress in running.values()],
        total=[progress.total for progress in running.values()],
    )
    return {SubmissionId(row["submission_id"]) async for row in rows}


async def release(connection: Connection, submission: SubmissionId) -> None:
    await SQL.release(connection, id=submission)


async def find_stale(connection: Connection, *, limit: int) -> list[StaleLease]:
    return [
        StaleLease(SubmissionId(row["id"]), row["attempt"], row["worker_id"])
        async for row in SQL.find_stale(connection, limit=limit)
    ]


async def count_running(
    connection: Connection, language: str, account: AccountId
) -> RunningCounts:
    """Counts under a lock, so that two starts at the same time see each other (Q9)."""
    await SQL.lock_caps(connection)
    row = await SQL.count_running(connection, language=language, account=account)
    return RunningCounts(**row)
