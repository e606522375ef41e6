"""The outbox: jobs for the queue, written in the transaction that creates them (Q2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from deemster.domain.ids import WorkId, work_id
from deemster.domain.job import Job, Task
from deemster.store.pool import Connection, statements

SQL = statements("outbox")
FIRST_BACKOFF_S: Final = 0.25
MAX_BACKOFF_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A row that a relay has claimed."""

    id: int
    job: Job
    tries: int


async def claim(connection: Connection, *, limit: int, claim_s: float) -> list[OutboxRow]:
    return [
        OutboxRow(
            id=row["id"],
            job=Job(
                work=work_id(row["work_id"]),
                task=Task(row["task"]),
                dispatch=row["dispatch"],
                priority=row["priority"],
                problem=row["problem_id"],
                revision=row["revision"],
                attempt=row["attempt"],
            ),
            tries=row["tries"],
        )
        async for row in SQL.claim(connection, limit=limit, claim_s=claim_s)
    ]


async def mark_sent(connection: Connection, rows: Sequence[OutboxRow]) -> None:
    await SQL.mark_sent(connection, ids=[row.id for row in rows])


async def retry_later(connection: Connection, rows: Sequence[OutboxRow], error: str) -> None:
    """Releases the rows; the relay sends them again after a delay that grows."""
    await SQL.retry_later(
        connection,
        ids=[row.id for row in rows],
        error=error,
        first_s=FIRST_BACKOFF_S,
        max_s=MAX_BACKOFF_S,
    )


async def retry_now(connection: Connection) -> None:
    """Makes rows that failed due at once, because the queue answers again."""
    await SQL.retry_now(connection)


async def add(
    connection: Connection,
    work: WorkId,
    task: Task,
    *,
    dispatch: int,
    attempt: int,
    delay_s: float = 0,
) -> None:
    await SQL.add(
        connection,
        id=work,
        task=task,
        dispatch=dispatch,
        attempt=attempt,
        delay_s=float(delay_s),
    )


async def count_unsent(connection: Connection) -> tuple[int, float]:
    """Returns how many rows are unsent, and for how many seconds the oldest has been due."""
    row = await SQL.count_unsent(connection)
    return row["waiting"], row["oldest_s"]


async def trim(connection: Connection, *, older_than_s: float, limit: int) -> None:
    await SQL.trim(connection, older_than_s=float(older_than_s), limit=limit)
