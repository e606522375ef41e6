"""Whose problems are: who imports one first owns it, and admins may change them all."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deemster.domain.ids import AccountId, ProblemId, RevisionDigest
from deemster.store.pool import Connection
from deemster.store.queries import rows_changed, statements

SQL = statements("problem_owners")


@dataclass(frozen=True, slots=True)
class Holding:
    owner: AccountId | None
    """None: it came by a command, so it is the admins'."""
    revision: RevisionDigest
    retired: bool


async def claim(
    connection: Connection,
    problem: ProblemId,
    revision: RevisionDigest,
    owner: AccountId | None,
) -> bool:
    """Whether it is new, and theirs now; of two who come at once, one waits for the other."""
    status = await SQL.claim(connection, id=problem, revision=revision, owner=owner)
    return rows_changed(status) > 0


async def locked(connection: Connection, problem: ProblemId) -> Holding | None:
    return holding_of(await SQL.locked(connection, id=problem))


async def seen(connection: Connection, problem: ProblemId) -> Holding | None:
    return holding_of(await SQL.seen(connection, id=problem))


def holding_of(row: Mapping[str, Any] | None) -> Holding | None:
    if row is None:
        return None
    return Holding(row["owner_id"], row["revision"], row["retired_at"] is not None)
