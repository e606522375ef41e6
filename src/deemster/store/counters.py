"""Counts submissions and accepted ones per problem and account, each exactly once (I3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deemster.domain.ids import AccountId, ProblemId
from deemster.domain.judgement import FaultCause
from deemster.domain.verdict import Verdict
from deemster.store.pool import Connection, statements

SQL = statements("counters")


async def count_verdict(
    connection: Connection,
    account: AccountId,
    problem: ProblemId,
    verdict: Verdict,
    *,
    sign: int = 1,
) -> None:
    """Call it last in the transaction: all submissions to a problem update the same row."""
    accepted = sign * (verdict is Verdict.ACCEPTED)
    await SQL.count(
        connection, account=account, problem=problem, submits=sign, accepted=accepted
    )


async def count_judge_error(connection: Connection, cause: FaultCause | None) -> None:
    """A judge host of an earlier release tells no cause."""
    await SQL.count_judge_error(connection, cause=cause or "unknown")


async def judge_errors(connection: Connection) -> dict[str, int]:
    """Maps each cause to the number of submissions that got the verdict Judge Error."""
    return {row["cause"]: row["count"] async for row in SQL.judge_errors(connection)}


@dataclass(frozen=True, slots=True)
class ProblemCounts:
    submits: int = 0
    """Judged submissions."""
    accepted: int = 0
    level: int | None = None
    """Difficulty from 1 to 10; None: nobody gave one, and few submissions were judged."""
    level_given: bool = False
    """The author gave the difficulty; otherwise it comes from the acceptance rate."""


async def problem_counts(connection: Connection, problem: ProblemId) -> ProblemCounts:
    row = await SQL.problem_counts(connection, problem=problem)
    return ProblemCounts(**row) if row else ProblemCounts()


@dataclass(frozen=True, slots=True)
class AccountCounts:
    submits: int
    accepted: int
    solved: int
    """Problems."""
    tried: int
    """Problems that are not solved."""
    today: int
    """Submissions since midnight UTC; counted only if the account has a quota."""


async def account_counts(
    connection: Connection, account: AccountId
) -> tuple[AccountCounts, float]:
    """Also returns the seconds until midnight UTC."""
    row = await SQL.account_counts(connection, account=account)
    counts = AccountCounts(
        submits=row["submits"],
        accepted=row["accepted"],
        solved=row["solved"],
        tried=row["tried"],
        today=row["today"],
    )
    return counts, row["day_left_s"]


async def find_mismatches(connection: Connection) -> list[Mapping[str, Any]]:
    """Lists counters that differ from the submissions: there should be none."""
    return [dict(row) async for row in SQL.find_mismatches(connection)]
