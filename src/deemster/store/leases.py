"""Leases: which worker runs which submission or execution, and how far it is (Q5, Q6, J10)."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from deemster.domain.ids import AccountId, WorkerId, WorkId, kind_of, work_id
from deemster.domain.job import Task, first_task
from deemster.domain.judgement import CaseSoFar
from deemster.domain.submission import JudgingProgress
from deemster.domain.verdict import Verdict
from deemster.store.pool import Connection, statements

SQL = statements("leases")
W = TypeVar("W", bound=WorkId)


@dataclass(frozen=True, slots=True)
class StaleLease:
    work: WorkId
    attempt: int
    worker: WorkerId | None
    tries: int
    """How often the present task was started."""
    beat_at: datetime | None
    """When the lease was renewed; None: there is no lease."""
    stages: tuple[Task, ...] = ()
    """Those that are left of a submission that has its verdict, the present one first."""

    @property
    def task(self) -> Task:
        return self.stages[0] if self.stages else first_task(self.work)


@dataclass(frozen=True, slots=True)
class RunningCounts:
    """How many submissions, or executions, run now."""

    total: int
    of_language: int
    of_account: int


@dataclass(frozen=True, slots=True)
class RunningWork:
    """What a worker runs now, for admins."""

    worker: WorkerId
    id: WorkId
    attempt: int
    task: Task
    language: str
    problem: str | None
    """None: an execution or an analysis."""
    account_name: str
    seconds: float
    """Since it started."""
    cases_done: int
    cases_total: int


async def renew(
    connection: Connection,
    worker: WorkerId,
    running: Mapping[tuple[W, int], JudgingProgress],
) -> set[WorkId]:
    """Returns what this worker still holds; the rest was rescued or cancelled."""
    rows = SQL.renew(
        connection,
        worker=worker,
        ids=[work for work, _ in running],
        attempts=[attempt for _, attempt in running],
        done=[progress.done for progress in running.values()],
        total=[progress.total for progress in running.values()],
        cases=[cases_to_json(progress.cases) for progress in running.values()],
    )
    return {work_id(row["work_id"]) async for row in rows}


def cases_to_json(cases: Iterable[CaseSoFar]) -> str:
    return json.dumps(
        [[each.number, each.verdict, each.cpu_ms, each.memory_kb] for each in cases]
    )


def progress_from_row(row: Mapping[str, Any]) -> JudgingProgress:
    cases = (CaseSoFar(each[0], Verdict(each[1]), *each[2:]) for each in row["cases"])
    return JudgingProgress(row["cases_done"], row["cases_total"], tuple(cases))


async def list_running(connection: Connection) -> list[RunningWork]:
    return [
        RunningWork(
            worker=WorkerId(row["worker_id"]),
            id=work_id(row["work_id"]),
            attempt=row["attempt"],
            task=Task(row["stages"][0])
            if row["stages"]
            else first_task(work_id(row["work_id"])),
            language=row["language"],
            problem=row["problem_id"],
            account_name=row["account_name"],
            seconds=row["seconds"],
            cases_done=row["cases_done"],
            cases_total=row["cases_total"],
        )
        async for row in SQL.list_running(connection)
    ]


async def find_stale(connection: Connection, *, limit: int) -> list[StaleLease]:
    return [
        StaleLease(
            work_id(row["id"]),
            row["attempt"],
            row["worker_id"],
            row["tries"],
            row["beat_at"],
            tuple(map(Task, row["stages"] or ())),
        )
        async for row in SQL.find_stale(connection, limit=limit)
    ]


async def end_stale(connection: Connection, stale: StaleLease) -> bool:
    """Returns False if it was renewed since it was read, or a judge host reported a result."""
    ended = await SQL.end_stale(
        connection, id=stale.work, attempt=stale.attempt, beat_at=stale.beat_at
    )
    return ended is not None


async def count_running(
    connection: Connection, work: WorkId, language: str, account: AccountId
) -> RunningCounts:
    """Counts under a lock, so that two starts at the same time see each other (Q9)."""
    await SQL.lock_caps(connection)
    row = await SQL.count_running(
        connection, kind=kind_of(work), language=language, account=account
    )
    return RunningCounts(**row)
