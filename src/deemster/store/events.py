"""Reads events in an order in which none is missed or repeated (H1, Q13)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from deemster.domain.ids import AccountId, ContestId, ProblemId, WorkId, work_id
from deemster.domain.lifecycle import SETTLED, TERMINAL, State
from deemster.domain.submission import JudgingProgress
from deemster.domain.verdict import Verdict
from deemster.store.leases import progress_from_row
from deemster.store.pool import Connection, rows_changed, statements

SQL = statements("events")
LAST_ID: Final = 2**63 - 1
FIRST_XACT: Final = 1
"""Lower than any transaction of a server; restored events get it."""
RESET_BATCH: Final = 10_000


@dataclass(frozen=True, slots=True, order=True)
class EventCursor:
    """The last event that a reader has read."""

    xact: int
    id: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The visible transactions at a moment, as Postgres writes them: `xmin:xmax:list`."""

    text: str

    @property
    def xmin(self) -> int:
        """All transactions before it have ended."""
        return int(self.text.split(":")[0])

    @property
    def cursor(self) -> EventCursor:
        """Points after the last event that no earlier one can follow."""
        return EventCursor(self.xmin - 1, LAST_ID)


@dataclass(frozen=True, slots=True)
class ChangedWork:
    """A submission or execution that has a new event."""

    work: WorkId
    account: AccountId
    xact: int
    state: State

    @property
    def is_settled(self) -> bool:
        """Whether the outcome of the run is known; stages may follow (S5)."""
        return self.state in SETTLED


@dataclass(frozen=True, slots=True)
class WorkEvent:
    cursor: EventCursor
    work: WorkId
    account: AccountId
    problem: ProblemId | None
    """None: the event is of an execution."""
    contest: ContestId | None
    language: str
    staged: bool
    """Whether it belongs to a rejudging on trial, which only admins see."""
    state: State
    attempt: int
    at: datetime
    reason: str | None
    """For admins only: it may name workers."""
    verdict: Verdict | None
    runtime_ms: int | None
    memory_kb: int | None
    passed_cases: int | None
    total_cases: int | None
    score: float | None
    max_score: float | None

    @property
    def is_settled(self) -> bool:
        """Whether the outcome of the run is known; stages may follow (S5)."""
        return self.state in SETTLED

    @property
    def is_final(self) -> bool:
        return self.state in TERMINAL


async def current_snapshot(connection: Connection) -> Snapshot:
    return Snapshot(await SQL.current_snapshot(connection))


async def changed_since(
    connection: Connection, seen: Snapshot
) -> tuple[Snapshot, list[ChangedWork]]:
    """Finds events committed since `seen`, however long their transactions took."""
    rows = [row async for row in SQL.changed_since(connection, seen=seen.text)]
    return Snapshot(rows[0]["snapshot"]), [
        ChangedWork(
            work_id(row["work_id"]),
            AccountId(row["account_id"]),
            row["xact"],
            State(row["state"]),
        )
        for row in rows
        if row["work_id"] is not None
    ]


async def list_after(
    connection: Connection,
    mark: EventCursor,
    *,
    before: int,
    limit: int,
    contest: ContestId | None = None,
) -> list[WorkEvent]:
    """`before` is the xmin of a snapshot: after it, earlier events may still be committed."""
    rows = SQL.list_after(
        connection, xact=mark.xact, id=mark.id, before=before, contest=contest, limit=limit
    )
    return [event_from_row(row) async for row in rows]


async def list_of_account(
    connection: Connection,
    account: AccountId,
    mark: EventCursor,
    *,
    before: int,
    limit: int,
    contest: ContestId | None = None,
    with_staged: bool = False,
) -> list[WorkEvent]:
    rows = SQL.list_of_account(
        connection,
        account=account,
        xact=mark.xact,
        id=mark.id,
        before=before,
        contest=contest,
        with_staged=with_staged,
        limit=limit,
    )
    return [event_from_row(row) async for row in rows]


async def list_of_work(connection: Connection, works: Collection[WorkId]) -> list[WorkEvent]:
    rows = SQL.list_of_work(connection, works=list(works))
    return [event_from_row(row) async for row in rows]


async def running_progress(
    connection: Connection, works: Collection[WorkId]
) -> dict[WorkId, JudgingProgress]:
    rows = SQL.running_progress(connection, works=list(works))
    return {work_id(row["work_id"]): progress_from_row(row) async for row in rows}


async def reset_future_transactions(connection: Connection) -> None:
    """After a restore, events may have transaction numbers that this server has not reached."""
    while rows_changed(await SQL.reset_future_transactions(connection, limit=RESET_BATCH)):
        pass


def event_from_row(row: Mapping[str, Any]) -> WorkEvent:
    return WorkEvent(
        cursor=EventCursor(row["xact"], row["id"]),
        work=work_id(row["work_id"]),
        account=AccountId(row["account_id"]),
        problem=row["problem_id"],
        contest=ContestId(row["contest_id"]) if row["contest_id"] else None,
        language=row["language"],
        staged=row["staged"],
        state=State(row["state"]),
        attempt=row["attempt"],
        at=row["at"],
        reason=row["reason"],
        verdict=Verdict(row["verdict"]) if row["verdict"] else None,
        runtime_ms=row["runtime_ms"],
        memory_kb=row["memory_kb"],
        passed_cases=row["passed_cases"],
        total_cases=row["total_cases"],
        score=row["score"],
        max_score=row["max_score"],
    )
