"""Rubrics and their versions, which never change; a problem's own rubric takes precedence."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from deemster.domain.ids import RUBRIC, ProblemId, new_id
from deemster.domain.rubric import RubricId
from deemster.store.pool import Connection, statements

SQL = statements("rubrics")


@dataclass(frozen=True, slots=True)
class StoredRubric:
    id: RubricId
    problem: ProblemId | None
    """None: the general rubric."""
    number: int
    digest: str
    title: str
    yaml: str
    created_by: str
    created_at: datetime
    retired_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewRubric:
    problem: ProblemId | None
    digest: str
    title: str
    yaml: str
    created_by: str
    """Name of the admin's account, or of Deemster itself."""


async def in_force(connection: Connection, problem: ProblemId) -> StoredRubric | None:
    """The rubric by which a submission to the problem is evaluated now."""
    return rubric_from_row(await SQL.in_force(connection, problem=problem))


async def get(connection: Connection, rubric: RubricId) -> StoredRubric | None:
    return rubric_from_row(await SQL.get(connection, id=rubric))


async def page(
    connection: Connection, *, before: RubricId | None, problem: ProblemId | None, limit: int
) -> list[StoredRubric]:
    rows = SQL.page(connection, before=before, problem=problem, limit=limit)
    return [from_row(row) async for row in rows]


async def add(connection: Connection, new: NewRubric) -> tuple[StoredRubric, bool]:
    """Call it in a transaction. Returns the version, and whether it is new: the content that
    is in force already does not become another version."""
    await SQL.lock(connection)
    newest = rubric_from_row(await SQL.newest(connection, problem=new.problem))
    if newest is not None and newest.retired_at is None and newest.digest == new.digest:
        return newest, False
    rubric = RubricId(new_id(RUBRIC))
    await SQL.add(
        connection,
        id=rubric,
        problem=new.problem,
        number=newest.number + 1 if newest else 1,
        digest=new.digest,
        title=new.title,
        yaml=new.yaml,
        created_by=new.created_by,
    )
    added = await get(connection, rubric)
    assert added is not None
    return added, True


async def retire(connection: Connection, rubric: RubricId) -> bool:
    """Returns False if there is no such version in force."""
    return await SQL.retire(connection, id=rubric) is not None


def rubric_from_row(row: Mapping[str, Any] | None) -> StoredRubric | None:
    return from_row(row) if row is not None else None


def from_row(row: Mapping[str, Any]) -> StoredRubric:
    fields = dict(row)
    return StoredRubric(problem=fields.pop("problem_id"), **fields)
