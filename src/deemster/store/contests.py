"""Contests: their opening times and their problems."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from deemster.domain.errors import Refused
from deemster.domain.ids import AccountId, ContestId, ProblemId
from deemster.domain.job import Task
from deemster.store.pool import Connection, statements

SQL = statements("contests")


@dataclass(frozen=True, slots=True)
class ContestPlan:
    """What an admin sets."""

    title: str
    opens_at: datetime
    closes_at: datetime
    """Submissions at this time are refused."""
    problems: Sequence[ProblemId]
    stages: frozenset[Task] | None = None
    """Those that follow a verdict; None: those of the problem."""


@dataclass(frozen=True, slots=True)
class Contest:
    id: ContestId
    plan: ContestPlan
    opens_in_s: float
    """Seconds from the read, by the database's clock; negative if it has opened."""
    closes_in_s: float

    def has_opened(self, later_s: float = 0.0) -> bool:
        return self.opens_in_s <= later_s

    def has_closed(self, later_s: float = 0.0) -> bool:
        return self.closes_in_s <= later_s


async def add(
    connection: Connection, contest: ContestId, plan: ContestPlan, *, by: AccountId
) -> None:
    await refuse_unknown_problems(connection, plan)
    await SQL.add(connection, id=contest, made_by=by, **parameters(plan))


async def update(connection: Connection, contest: ContestId, plan: ContestPlan) -> bool:
    """Returns False if there is no such contest."""
    await refuse_unknown_problems(connection, plan)
    return await SQL.update(connection, id=contest, **parameters(plan)) is not None


async def refuse_unknown_problems(connection: Connection, plan: ContestPlan) -> None:
    rows = SQL.unknown_problems(connection, problems=list(plan.problems))
    unknown = [row["id"] async for row in rows]
    if unknown:
        raise Refused(f"There is no problem {', '.join(unknown[:3])}: see GET /v1/problems.")


async def get(connection: Connection, contest: ContestId) -> Contest | None:
    row = await SQL.get(connection, id=contest)
    return contest_from_row(row) if row else None


async def page(
    connection: Connection, *, before: ContestId | None, limit: int
) -> list[Contest]:
    return [
        contest_from_row(row) async for row in SQL.page(connection, before=before, limit=limit)
    ]


def parameters(plan: ContestPlan) -> dict[str, Any]:
    return {
        "title": plan.title,
        "opens_at": plan.opens_at,
        "closes_at": plan.closes_at,
        "problems": list(plan.problems),
        "stages": sorted(plan.stages) if plan.stages is not None else None,
    }


def contest_from_row(row: Mapping[str, Any]) -> Contest:
    stages = frozenset(map(Task, row["stages"])) if row["stages"] is not None else None
    plan = ContestPlan(row["title"], row["opens_at"], row["closes_at"], row["problems"], stages)
    return Contest(ContestId(row["id"]), plan, row["opens_in_s"], row["closes_in_s"])
