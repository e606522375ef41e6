"""Judge0's callbacks (F1, H2, H3): a PUT of what GET /submissions/{token} answers in base64."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import judge0
import pytest

from deemster.api.app import create_app
from deemster.domain.execution import ExecutionResult, Stream
from deemster.domain.ids import ExecutionId
from deemster.domain.run_status import RunStatus
from deemster.domain.webhook import WebhookFormat
from deemster.pipeline.deliver import webhook_delivery
from deemster.pipeline.deliver.judge0_format import COMPILE_FAILED, COMPILE_OUTPUT
from deemster.pipeline.deliver.sender import DeliveryFault
from deemster.pipeline.verdict.cancel import cancel
from deemster.store import webhooks
from deemster.store.pool import Pool, connection
from deemster.store.webhooks import Delivery, DeliveryFilter, DeliveryState
from tests.api.compat.conftest import GOOD, SettlingWorker
from tests.api.conftest import MakeDependencies, make_user, running
from tests.pipeline.deliver.conftest import delivering, until_ended
from tests.pipeline.deliver.receiver import OK, Request, receiving, silence, status

CREATE = "/judge0/submissions"
PROGRAM = {"language_id": 71, "source_code": "print(1)", "expected_output": "1"}
ENDS: dict[str, tuple[ExecutionResult, list[tuple[Stream, bytes]], int]] = {
    "accepted": (GOOD, [(Stream.STDOUT, b"1\n")], 3),
    "output that is not text": (GOOD, [(Stream.STDOUT, b"\xff" * 50)], 4),
    "killed": (replace(GOOD, status=RunStatus.SIGNALLED, signal=11), [], 7),
    "compile script": (
        replace(
            GOOD,
            status=RunStatus.NONZERO_EXIT,
            returned_files={COMPILE_FAILED: b"\n", COMPILE_OUTPUT: b"why"},
        ),
        [],
        6,
    ),
    "too slow": (replace(GOOD, status=RunStatus.TIME_LIMIT), [(Stream.STDERR, b"e")], 5),
}


@pytest.fixture
async def client(
    make_dependencies: MakeDependencies, pool: Pool, worker: SettlingWorker
) -> AsyncIterator[httpx.AsyncClient]:
    """Callbacks to this machine are allowed."""
    user = await make_user(pool, "ada")
    dependencies = make_dependencies(compat=["judge0"], webhook_allow_private=True)
    async with running(create_app(dependencies)) as opened:
        opened.headers["X-Auth-Token"] = user.token
        yield opened


async def post(client: httpx.AsyncClient, url: str, **fields: Any) -> httpx.Response:
    return await client.post(CREATE, json={**PROGRAM, **fields, "callback_url": url})


async def only_delivery(pool: Pool) -> Delivery:
    async with connection(pool) as acquired:
        (delivery,) = await webhooks.page(acquired, DeliveryFilter(), limit=10)
    return delivery


@pytest.mark.parametrize("case", ENDS)
async def test_a_callback_puts_what_a_get_answers(
    client: httpx.AsyncClient, pool: Pool, worker: SettlingWorker, case: str
) -> None:
    result, output, expected = ENDS[case]
    async with receiving() as receiver, delivering(pool):
        created, _ = await worker.answer(post(client, receiver.url), result, output)
        await until_ended(pool)
    token = created.json()["token"]
    (request,) = receiver.got
    assert (request.method, request.path) == ("PUT", "/hook")
    assert request.headers["content-type"] == "application/json"
    shown = await client.get(f"{CREATE}/{token}?base64_encoded=true")
    assert json.loads(request.body) == shown.json()
    assert shown.json()["status"]["id"] == expected
    url = await client.get(f"{CREATE}/{token}?fields=callback_url")
    assert url.json() == {"callback_url": receiver.url}


async def test_the_python_client_reads_a_callback(
    client: httpx.AsyncClient, pool: Pool, worker: SettlingWorker
) -> None:
    """As its example of a receiver does."""
    async with receiving() as receiver, delivering(pool):
        await worker.answer(post(client, receiver.url), GOOD, [(Stream.STDOUT, b"1\n")])
        await until_ended(pool)
    found = judge0.Submission.model_validate_json(receiver.got[0].body)
    assert (found.stdout, found.status) == ("1\n", judge0.Status.ACCEPTED)


async def test_a_cancelled_submission_calls_back_too(
    client: httpx.AsyncClient, pool: Pool
) -> None:
    async with receiving() as receiver, delivering(pool):
        await post(client, receiver.url)
        async with connection(pool) as acquired:
            execution = ExecutionId(await acquired.fetchval("SELECT id FROM work"))
        await cancel(pool, execution)
        await until_ended(pool)
    assert json.loads(receiver.got[0].body)["status"]["id"] == 13


async def test_h2_a_callback_is_tried_three_times_and_the_attempts_are_listed(
    client: httpx.AsyncClient,
    pool: Pool,
    worker: SettlingWorker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also after a redirect (H3), and after a receiver that does not answer in time."""
    monkeypatch.setattr(webhook_delivery, "CALLBACK_TIMEOUT_S", 0.2)
    answers = (silence, status(307, "Location: http://127.0.0.1/"), status(500), OK)
    async with receiving(*answers) as receiver, delivering(pool, timeout_s=60):
        await worker.answer(post(client, receiver.url))
        await until_ended(pool)
        token = {"Authorization": f"Bearer {client.headers['X-Auth-Token']}"}
        (listed,) = (await client.get("/v1/webhooks", headers=token)).json()["items"]
        assert (listed["format"], listed["state"], listed["tries"]) == ("judge0", "failed", 3)
        assert [(each["status"], each["error"]) for each in listed["attempts"]] == [
            (None, DeliveryFault.TIMEOUT),
            (307, DeliveryFault.REDIRECT),
            (500, DeliveryFault.STATUS),
        ]
        again = await client.post(f"/v1/webhooks/{listed['id']}/resend", headers=token)
        assert (again.status_code, again.json()["format"]) == (202, "judge0")
        await until_ended(pool)
    assert [each.method for each in receiver.got] == ["PUT"] * 4
    assert len({each.body for each in receiver.got}) == 1


async def test_h3_a_callback_to_a_private_address_is_not_sent(
    client: httpx.AsyncClient, pool: Pool, worker: SettlingWorker
) -> None:
    """The address of a name is known only when the callback is sent."""
    async with receiving() as receiver, delivering(pool, allow_private=False):
        await worker.answer(post(client, receiver.url))
        await until_ended(pool)
    delivery = await only_delivery(pool)
    assert delivery.state is DeliveryState.FAILED
    assert {each.error for each in delivery.attempts} == {DeliveryFault.NOT_ALLOWED}
    assert not receiver.connections


async def test_a_submission_without_a_callback_sends_none(
    client: httpx.AsyncClient, pool: Pool, worker: SettlingWorker
) -> None:
    """An empty address is none."""
    await worker.answer(post(client, ""))
    async with connection(pool) as acquired:
        assert await webhooks.page(acquired, DeliveryFilter(), limit=10) == []


async def test_executions_of_the_own_api_keep_the_standard_format(
    client: httpx.AsyncClient, pool: Pool, worker: SettlingWorker
) -> None:
    token = {"Authorization": f"Bearer {client.headers['X-Auth-Token']}"}
    async with receiving() as receiver, delivering(pool):
        body = {"language": "python3", "source_code": "1", "webhook_url": receiver.url}
        await worker.answer(client.post("/v1/executions", json=body, headers=token))
        await until_ended(pool)
    request: Request = receiver.got[0]
    assert (request.method, json.loads(request.body)["type"]) == ("POST", "execution.finished")
    assert (await only_delivery(pool)).format is WebhookFormat.STANDARD
