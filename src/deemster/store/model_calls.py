"""Calls of models: reserved before they are sent, settled once, within budgets (P5)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deemster.domain.evaluation import Usage, Variant
from deemster.domain.ids import AccountId, SubmissionId
from deemster.domain.model_tier import BudgetName, Budgets, Micros, TierName
from deemster.domain.rubric import RubricId
from deemster.store.pool import Connection, statements

SQL = statements("model_calls")


@dataclass(frozen=True, slots=True)
class CallKey:
    """Names a call: a repeated evaluation finds the reply, and does not pay again."""

    submission: SubmissionId
    rubric: RubricId
    variant: Variant
    tier: TierName
    number: int
    """From 1; a repair attempt has a number of its own."""


@dataclass(frozen=True, slots=True)
class Reserved:
    id: int


@dataclass(frozen=True, slots=True)
class StoredReply:
    content: str


@dataclass(frozen=True, slots=True)
class HeldByOther:
    for_s: float


@dataclass(frozen=True, slots=True)
class OverBudget:
    budget: BudgetName


Reservation = Reserved | StoredReply | HeldByOther | OverBudget


@dataclass(frozen=True, slots=True)
class SettledCall:
    cost: Micros
    input_tokens: int = 0
    output_tokens: int = 0
    latency_ms: int = 0
    content: str | None = None
    """None if the call failed."""
    error: str | None = None


@dataclass(frozen=True, slots=True)
class SpendOfDay:
    day: str
    tier: TierName
    calls: int
    failed: int
    under_way: int
    input_tokens: int
    output_tokens: int
    cost_micros: Micros


async def reserve(
    connection: Connection, key: CallKey, account: AccountId, worst: Micros, *, claim_s: float
) -> Reservation:
    """Call it in a transaction. Others can't reserve until that transaction ends."""
    budgets = Budgets(**await SQL.lock_budgets(connection))
    named = key_parameters(key)
    found = await SQL.get(connection, **named)
    if found is not None and found["state"] == "answered":
        return StoredReply(found["content"])
    if found is not None and found["state"] == "reserved":
        if found["claimed_for_s"] > 0:
            return HeldByOther(found["claimed_for_s"])
        await SQL.take_over(connection, id=found["id"], claim_s=claim_s)
        return Reserved(found["id"])
    sums = await SQL.sums(connection, submission=key.submission, account=account)
    for budget in BudgetName:
        if sums[budget] + worst > getattr(budgets, budget):
            return OverBudget(budget)
    if found is None:
        call = await SQL.add(
            connection, **named, account=account, micros=worst, claim_s=claim_s
        )
        await SQL.add_spend(connection, account=account, micros=worst)
        return Reserved(call)
    earlier = found["charged_micros"]
    await SQL.move_spend(connection, day=found["day"], account=account, micros=earlier)
    await SQL.reserve_again(connection, id=found["id"], micros=worst, claim_s=claim_s)
    await SQL.add_spend(connection, account=account, micros=earlier + worst)
    return Reserved(found["id"])


async def settle(connection: Connection, reserved: Reserved, result: SettledCall) -> bool:
    """Returns False if the call was settled before."""
    saved = await SQL.settle(
        connection,
        id=reserved.id,
        state="failed" if result.content is None else "answered",
        cost=result.cost,
        content=result.content,
        error=result.error,
        input_tokens=result.input_tokens,
        output_tokens=result.output_tokens,
        latency_ms=result.latency_ms,
    )
    return saved is not None


async def usage(connection: Connection, submission: SubmissionId, rubric: RubricId) -> Usage:
    row = await SQL.usage(connection, submission=submission, rubric=rubric)
    return Usage(
        calls=row["calls"],
        input_tokens=row["input_tokens"],
        output_tokens=row["output_tokens"],
        cost=Micros(row["cost_micros"]),
        latency_ms=row["latency_ms"],
    )


async def spend_by_day(connection: Connection, *, days: int) -> list[SpendOfDay]:
    """The newest day first."""
    return [SpendOfDay(**row) async for row in SQL.spend_by_day(connection, days=days)]


async def find_mismatches(connection: Connection) -> list[Mapping[str, Any]]:
    """Lists spends that differ from the calls: there should be none."""
    return [dict(row) async for row in SQL.find_mismatches(connection)]


def key_parameters(key: CallKey) -> dict[str, Any]:
    return {
        "submission": key.submission,
        "rubric": key.rubric,
        "variant": key.variant,
        "tier": key.tier,
        "number": key.number,
    }
