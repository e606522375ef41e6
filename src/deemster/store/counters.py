"""How many were submitted and accepted, by problem and by account: once per submission (I3)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from deemster.domain.ids import AccountId, ProblemId
from deemster.domain.verdict import Verdict
from deemster.store.pool import Connection
from deemster.store.queries import statements

SQL = statements("counters")


async def count_verdict(
    connection: Connection,
    account: AccountId,
    problem: ProblemId,
    verdict: Verdict,
    *,
    sign: int = 1,
) -> None:
    """Last in its transaction: everyone's row of a problem is one and the same."""
    accepted = sign * (verdict is Verdict.ACCEPTED)
    await SQL.count_account(
        connection, account=account, problem=problem, submits=sign, accepted=accepted
    )
    await SQL.count_problem(connection, problem=problem, submits=sign, accepted=accepted)


async def problem_counts(connection: Connection, problem: ProblemId) -> tuple[int, int]:
    """How many were submitted, and how many of them accepted."""
    row = await SQL.problem_counts(connection, problem=problem)
    return (row["submits"], row["accepted"]) if row else (0, 0)


@dataclass(frozen=True, slots=True)
class AccountCounts:
    """Of one account."""

    submits: int
    accepted: int
    solved: int
    """Problems."""
    tried: int
    """Problems that are not solved."""
    today: int
    """Handed in since midnight, UTC, as far as there is a quota that counts them."""


async def account_counts(
    connection: Connection, account: AccountId
) -> tuple[AccountCounts, float]:
    """And for how many seconds today is today."""
    row = await SQL.account_counts(connection, account=account)
    deeds = AccountCounts(
        submits=row["submits"],
        accepted=row["accepted"],
        solved=row["solved"],
        tried=row["tried"],
        today=row["today"],
    )
    return deeds, row["day_left_s"]


async def tried_problems(
    connection: Connection, account: AccountId, problems: Iterable[ProblemId]
) -> dict[ProblemId, bool]:
    """Those of the problems that it tried, and whether it solved them."""
    rows = SQL.tried_problems(connection, account=account, problems=list(problems))
    return {ProblemId(row["problem_id"]): row["solved"] async for row in rows}


async def find_mismatches(connection: Connection) -> list[Mapping[str, Any]]:
    """Tallies that differ from the truth: there are none."""
    return [dict(row) async for row in SQL.find_mismatches(connection)]
