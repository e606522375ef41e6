"""The asynchronous client against the real API."""

import asyncio
import inspect
from contextlib import aclosing

from deemster.client import AsyncDeemster, Program, async_client, sync_client
from deemster.domain.ids import SubmissionId
from deemster.pipeline.verdict.cancel import cancel
from deemster.store.pool import Pool
from deemster.wiring.address import Address
from tests.builders import make_problem
from tests.client.servers import cutting


async def test_i1_a_retry_after_a_lost_answer_makes_no_second_execution(
    api: Address, token: str
) -> None:
    async with (
        cutting(api, 0, 20) as (proxy, made),
        AsyncDeemster(proxy.url, token) as judge,
    ):
        started = await judge.executions.start(Program("python3", "print(1)"))
        found = [each.execution_id async for each in judge.executions.list()]
    assert found == [started.execution_id]
    assert len(made) == 3


async def test_h1_waiting_and_events_end_when_the_submission_ends(
    api: Address, pool: Pool, token: str
) -> None:
    await make_problem(pool)
    async with AsyncDeemster(api.url, token) as judge:
        made = await judge.submissions.submit("prob_sum", "python3", "print(1)\n")

        async def statuses() -> list[str]:
            found = [each async for each in judge.submissions.events(made.id)]
            return [str(each.raw["status"]) for each in found]

        async with aclosing(judge.submissions.events(made.id)) as events:
            assert (await anext(events)).raw["status"] == "queued"
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(judge.submissions.wait(made.id))
            following = group.create_task(statuses())
            async for each in judge.submissions.watch(made.id, every_s=0.1):
                if not each.has_ended:
                    await cancel(pool, SubmissionId(made.id))
        assert waiting.result().status == "cancelled"
        assert following.result() == ["queued", "cancelled"]


def test_both_clients_have_the_same_methods() -> None:
    for name in ("Submissions", "Problems", "Executions", "CodeSessions", "Deemster"):
        ours, theirs = (
            {
                each: str(inspect.signature(method))
                for each, method in vars(kind).items()
                if callable(method) and not each.startswith("_")
            }
            for kind in (getattr(sync_client, name), getattr(async_client, f"Async{name}"))
        )
        theirs.pop("terminal", None)
        if "aclose" in theirs:
            theirs["close"] = theirs.pop("aclose")
        assert ours == theirs
