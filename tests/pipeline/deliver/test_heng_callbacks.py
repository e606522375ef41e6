"""M6: callbacks of heng tasks come in order, and none comes after the result."""

import json
from typing import Any

import pytest

from deemster.domain.heng_signature import is_signed, secret_key_of
from deemster.domain.ids import SubmissionId
from deemster.domain.lifecycle import Event
from deemster.domain.request_signature import SignedRequest
from deemster.domain.submission import HengTask
from deemster.pipeline.verdict.attempt import settle
from deemster.pipeline.verdict.cancel import cancel
from deemster.pipeline.verdict.rejudge import rejudge
from deemster.store import heng, webhooks
from deemster.store.artifacts import Artifacts
from deemster.store.lifecycle import advance
from deemster.store.pool import Pool, connection, transaction
from tests.builders import (
    judged,
    make_account,
    make_submission,
    queue_submission,
    start_submission,
)
from tests.pipeline.deliver.conftest import deliveries, delivering, until_ended
from tests.pipeline.deliver.receiver import OK, Receiver, receiving, status

ALL = ["confirmed", "pending", "judging", "finish"]
SECRET = b"a secret for tests"


async def make_task(pool: Pool, oj: Receiver) -> SubmissionId:
    account = await make_account(pool)
    async with connection(pool) as acquired:
        key = await heng.add_key(acquired, account, "test")
    task = HengTask(key.id, f"{oj.url}?Update=1", 100)
    return await make_submission(pool, account, webhook_url=oj.url, heng=task)


async def judge(pool: Pool, artifacts: Artifacts, task: SubmissionId) -> None:
    await queue_submission(pool, task)
    await settle(pool, artifacts, await start_submission(pool, task), judged())


def told(oj: Receiver) -> list[str]:
    documents: list[dict[str, Any]] = [json.loads(each.body) for each in oj.got]
    return [each.get("state", "finish") for each in documents]


async def test_all_callbacks_come_in_order(pool: Pool, artifacts: Artifacts) -> None:
    async with receiving() as oj:
        tasks = [await make_task(pool, oj) for _ in range(3)]
        for task in tasks:
            await judge(pool, artifacts, task)
        async with delivering(pool, keepers=3):
            await until_ended(pool)
    assert sorted(told(oj)) == sorted(ALL * 3)
    for task in tasks:
        found = sorted(await deliveries(pool, task), key=lambda each: str(each.ended_at))
        kinds = [each.kind.removeprefix("submission.") for each in found]
        assert kinds == ["confirmed", "pending", "judging", "finished"]


async def test_a_failing_update_does_not_stop_the_result(
    pool: Pool, artifacts: Artifacts
) -> None:
    """An update that later callbacks wait for is given up after one attempt."""
    async with receiving(status(500), status(500), status(500), OK) as oj:
        task = await make_task(pool, oj)
        await judge(pool, artifacts, task)
        async with delivering(pool, backoff_s=3600):
            await until_ended(pool)
    assert told(oj) == ALL


async def test_a_result_is_tried_again_until_it_is_accepted(
    pool: Pool, artifacts: Artifacts
) -> None:
    """Its client can't ask for it, so it is tried more often than other webhooks."""
    async with receiving(OK, OK, OK, *[status(500)] * 9, OK) as oj:
        await judge(pool, artifacts, await make_task(pool, oj))
        async with delivering(pool, backoff_s=0.001):
            await until_ended(pool)
    assert told(oj) == [*ALL, *["finish"] * 9]
    assert oj.got[-1].body == oj.got[-2].body


async def test_a_retried_task_tells_each_state_once(pool: Pool, artifacts: Artifacts) -> None:
    async with receiving() as oj:
        task = await make_task(pool, oj)
        await queue_submission(pool, task)
        await start_submission(pool, task)
        async with connection(pool) as acquired:
            await advance(acquired, Event.RETRY, task, 1)
        await settle(pool, artifacts, await start_submission(pool, task), judged())
        async with delivering(pool):
            await until_ended(pool)
    assert told(oj) == ALL


async def test_a_cancelled_task_has_a_result(pool: Pool) -> None:
    async with receiving() as oj:
        task = await make_task(pool, oj)
        await cancel(pool, task)
        async with delivering(pool):
            await until_ended(pool)
    assert told(oj) == ["confirmed", "finish"]
    kinds = [each["kind"] for each in json.loads(oj.got[-1].body)["result"]["cases"]]
    assert kinds == ["Unjudged"] * 3


@pytest.mark.parametrize("signs", [True, False])
async def test_callbacks_are_signed_if_the_operator_wants_it(
    pool: Pool, artifacts: Artifacts, signs: bool
) -> None:
    async with receiving() as oj:
        await judge(pool, artifacts, await make_task(pool, oj))
        async with delivering(pool, signing_secret=SECRET if signs else None):
            await until_ended(pool)
    for got in oj.got:
        path, _, query = got.path.partition("?")
        request = SignedRequest(got.method, path, query, got.headers, got.body)
        secret_key = secret_key_of(SECRET, got.headers.get("x-heng-accesskey", ""))
        assert is_signed(secret_key, request) is signs
        assert not any(name.startswith("webhook-") for name in got.headers)
    nonces = {got.headers.get("x-heng-nonce") for got in oj.got}
    assert len(nonces) == (len(ALL) if signs else 1)


async def test_only_a_result_can_be_sent_again(pool: Pool, artifacts: Artifacts) -> None:
    async with receiving() as oj:
        task = await make_task(pool, oj)
        await judge(pool, artifacts, task)
        async with delivering(pool):
            await until_ended(pool)
    async with connection(pool) as acquired:
        again = {
            each.kind: await webhooks.resend(acquired, each.id) is not None
            for each in await deliveries(pool, task)
        }
    assert again.pop("submission.finished")
    assert again == dict.fromkeys(
        ("submission.confirmed", "submission.pending", "submission.judging"), False
    )


async def test_a_rejudging_sends_no_callbacks(pool: Pool, artifacts: Artifacts) -> None:
    """The online judge no longer waits for a result of this task."""
    async with receiving() as oj:
        task = await make_task(pool, oj)
        await judge(pool, artifacts, task)
        async with transaction(pool) as acquired:
            new = (await rejudge(acquired, task)).id
        await judge(pool, artifacts, new)
    assert await deliveries(pool, new) == []
