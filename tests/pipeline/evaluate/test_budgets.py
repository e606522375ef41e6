"""P5: budgets hold under concurrency, and what is spent is the sum of the calls."""

import asyncio

import pytest

from deemster.domain.evaluation import Evaluation, EvaluationDelayed, Method, WithoutModel
from deemster.store import model_calls
from deemster.store.pool import connection
from tests.pipeline.evaluate.conftest import (
    GOOD,
    ONE_CALL,
    OpenService,
    RunningService,
    make_request,
    make_tier,
)
from tests.services.model_server import always, http, in_turn, says

WORST = 10 * ONE_CALL
"""More than a call of these tests can cost, and so more than it reserves."""


async def evaluate_at_once(running: RunningService, count: int) -> list[Evaluation]:
    requests = [
        await make_request(running.pool, name=f"user{number % 2}") for number in range(count)
    ]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(running.evaluate(request)) for request in requests]
    return [task.result() for task in tasks]


@pytest.mark.parametrize("budget", ["day", "user_day", "submission"])
async def test_p5_a_budget_holds_under_concurrency(
    open_service: OpenService, budget: str
) -> None:
    evaluations = 12
    async with open_service(a=says(GOOD)) as running:
        amount = WORST if budget != "submission" else ONE_CALL
        await running.use_budgets(**{budget: amount})
        found = await evaluate_at_once(running, evaluations)
        async with connection(running.pool) as reading:
            groups = {
                "day": "day",
                "user_day": "account_id, day",
                "submission": "submission_id",
            }
            most = await reading.fetchval(
                "SELECT max(s) FROM (SELECT sum(charged_micros) AS s FROM model_call"
                f" GROUP BY {groups[budget]}) AS sums"
            )
            assert await model_calls.find_mismatches(reading) == []
    refused = [each for each in found if each.without_model is WithoutModel.NO_BUDGET]
    assert (most or 0) <= amount
    assert refused, "the budget is too small for all"
    assert all(each.score == 100 for each in found)
    if budget != "submission":
        assert any(each.method is Method.MODEL for each in found)


async def test_p5_the_reserved_amount_counts_while_a_call_is_under_way(
    open_service: OpenService,
) -> None:
    async with open_service(a=says(GOOD)) as running:
        await running.use_tiers(make_tier(running.server, "a", answers=2))
        await running.use_budgets(day=WORST * 5)
        found = await evaluate_at_once(running, 8)
        charged = await running.charged()
    paid = [each for each in found if each.usage.calls]
    assert charged == sum(each.usage.cost for each in paid) <= WORST * 5


async def test_a_failed_call_that_is_repeated_is_counted_on_its_day(
    open_service: OpenService,
) -> None:
    async with open_service(a=in_turn(always(http(500)), says(GOOD))) as running:
        request = await make_request(running.pool)
        with pytest.raises(EvaluationDelayed):
            await running.evaluate(request)
        async with connection(running.pool) as writing:
            await writing.execute("UPDATE model_call SET day = day - 1")
            await writing.execute("UPDATE model_spend SET day = day - 1")
        await running.evaluate(request)
        async with connection(running.pool) as reading:
            assert await model_calls.find_mismatches(reading) == []
            days = await model_calls.spend_by_day(reading, days=7)
    assert [(each.tier, each.cost_micros) for each in days] == [("a", ONE_CALL)] * 2
