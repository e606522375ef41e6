"""How many were submitted and accepted, by problem and by account: once per submission (I3)."""

from collections.abc import Mapping
from typing import Any

from deemster.domain.ids import AccountId, ProblemId
from deemster.domain.verdict import Verdict
from deemster.store.named import statements
from deemster.store.pool import Connection

SQL = statements("tallies")


async def count(
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


async def of_problem(connection: Connection, problem: ProblemId) -> tuple[int, int]:
    """How many were submitted, and how many of them accepted."""
    row = await SQL.of_problem(connection, problem=problem)
    return (row["submits"], row["accepted"]) if row else (0, 0)


async def wrong(connection: Connection) -> list[Mapping[str, Any]]:
    """Tallies that differ from the truth: there are none."""
    return [dict(row) async for row in SQL.wrong(connection)]
