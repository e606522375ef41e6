"""Dead letters: what no attempt could judge or execute, kept for an admin (Q7)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from deemster.domain.ids import WorkId
from deemster.domain.job import Task
from deemster.store.pool import Connection, statements

SQL = statements("dead_letters")


@dataclass(frozen=True, slots=True)
class DeadLetter:
    id: int
    work: WorkId
    task: Task
    attempt: int
    error: str
    context: Mapping[str, Any]
    died_at: datetime
    outcome: str | None
    settled_at: datetime | None
    settled_by: str | None
    requeued_as: WorkId | None


@dataclass(frozen=True, slots=True)
class HistoryEvent:
    event: str
    state: str
    attempt: int
    reason: str | None
    at: datetime


async def add(
    connection: Connection,
    work: WorkId,
    task: Task,
    attempt: int,
    error: str,
    context: Mapping[str, Any],
) -> None:
    await SQL.add(connection, id=work, task=task, attempt=attempt, error=error, context=context)


async def page(
    connection: Connection,
    *,
    include_resolved: bool = False,
    before: int | None = None,
    limit: int = 100,
) -> list[DeadLetter]:
    rows = SQL.page(connection, include_resolved=include_resolved, before=before, limit=limit)
    return [dead_letter_from_row(row) async for row in rows]


async def get(connection: Connection, letter: int) -> DeadLetter | None:
    row = await SQL.get(connection, id=letter)
    return dead_letter_from_row(row) if row else None


async def latest_error(connection: Connection, work: WorkId) -> str | None:
    """Why the last attempt of a job failed for good; None: there is no dead letter."""
    error: str | None = await SQL.latest_error(connection, id=work)
    return error


async def history(connection: Connection, work: WorkId) -> list[HistoryEvent]:
    return [HistoryEvent(**row) async for row in SQL.history(connection, id=work)]


async def resolve(
    connection: Connection,
    letter: int,
    outcome: str,
    *,
    by: str,
    requeued_as: WorkId | None = None,
) -> bool:
    """Returns False if the dead letter was resolved before."""
    row = await SQL.resolve(
        connection, id=letter, outcome=outcome, by=by, requeued_as=requeued_as
    )
    return row is not None


def dead_letter_from_row(row: Mapping[str, Any]) -> DeadLetter:
    values = dict(row)
    return DeadLetter(work=values.pop("work_id"), task=Task(values.pop("task")), **values)
