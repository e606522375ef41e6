"""H2, H3: webhook deliveries as their owner sees them, and the secrets that sign them."""

import asyncio
import contextlib
import json
import os
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import uvicorn
from fastapi import FastAPI
from structlog.typing import EventDict

from deemster.api.app import create_app
from deemster.domain.account import Scope
from deemster.domain.ids import SubmissionId
from deemster.domain.verdict import Verdict
from deemster.pipeline.deliver.sender import DeliveryFault
from deemster.pipeline.verdict.attempt import settle
from deemster.pipeline.verdict.cancel import cancel
from deemster.store import accounts
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, connection
from tests.api.conftest import Api, MakeDependencies, User, make_user, running
from tests.api.judgements import HIDDEN, JUDGEMENTS
from tests.builders import make_submission, queue_submission, start_submission
from tests.pipeline.deliver.conftest import delivering
from tests.pipeline.deliver.receiver import OK, Receiver, Request, receiving, silence, status
from tests.waiting import until

PAGE = Path(__file__).parents[3] / "docs" / "webhooks.md"


async def end(
    pool: Pool,
    artifacts: Artifacts,
    api: Api,
    url: str,
    verdict: Verdict | None = Verdict.ACCEPTED,
) -> SubmissionId:
    """A submission of the user that was judged or cancelled."""
    submission = await make_submission(pool, api.user.id, webhook_url=url)
    await queue_submission(pool, submission)
    if verdict is None:
        await cancel(pool, submission)
    else:
        started = await start_submission(pool, submission)
        await settle(pool, artifacts, started, JUDGEMENTS[verdict])
    return submission


async def result(api: Api, path: str, **query: Any) -> Any:
    answer = await api.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def until_over(api: Api, path: str = "/v1/webhooks") -> list[dict[str, Any]]:
    async def is_over() -> bool:
        items = (await result(api, path))["items"]
        return bool(items) and all(each["state"] != "waiting" for each in items)

    await until(is_over)
    items: list[dict[str, Any]] = (await result(api, path))["items"]
    return items


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as opened:
        yield opened


@pytest.mark.parametrize("verdict", [*JUDGEMENTS, None])
async def test_a_webhook_has_the_fields_that_its_owner_sees(
    pool: Pool, artifacts: Artifacts, ada: Api, receiver: Receiver, verdict: Verdict | None
) -> None:
    """H2, A11: without output of programs."""
    async with delivering(pool):
        submission = await end(pool, artifacts, ada, receiver.url, verdict)
        await until_over(ada)
    (request,) = receiver.got
    data = json.loads(request.body)["data"]
    shown = await ada.show(submission)
    assert {name: shown[name] for name in data} == data
    assert {"id", "status", "verdict", "problem_id", "language", "finished_at"} <= data.keys()
    assert not {"expected", "got", "compiler_output", "message"} & data.keys()
    assert HIDDEN not in request.body.decode()


async def test_each_attempt_is_listed(pool: Pool, artifacts: Artifacts, ada: Api) -> None:
    """H2: two attempts fail, the third succeeds."""
    async with receiving(status(503), status(302), OK) as receiver, delivering(pool):
        submission = await end(pool, artifacts, ada, receiver.url)
        (delivery,) = await until_over(ada, f"/v1/submissions/{submission}/webhooks")
    assert delivery["state"] == "delivered"
    assert delivery["submission_id"] == submission
    assert delivery["tries"] == 3
    assert [(each["status"], each["error"]) for each in delivery["attempts"]] == [
        (503, DeliveryFault.STATUS),
        (302, DeliveryFault.REDIRECT),
        (200, None),
    ]
    assert all(each["took_ms"] >= 0 and each["at"] for each in delivery["attempts"])
    assert delivery["next_try_at"] is None
    assert await result(ada, f"/v1/webhooks/{delivery['id']}") == delivery
    assert receiver.ids == [delivery["id"]] * 3


async def test_a_delivery_without_a_response_is_shown_as_failed(
    pool: Pool, artifacts: Artifacts, ada: Api
) -> None:
    """H2: after three attempts."""
    async with receiving(silence) as receiver, delivering(pool, timeout_s=0.2):
        await end(pool, artifacts, ada, receiver.url)
        (delivery,) = await until_over(ada)
    assert delivery["state"] == "failed"
    assert [each["error"] for each in delivery["attempts"]] == [DeliveryFault.TIMEOUT] * 3


async def test_private_addresses_are_refused_and_not_shown(
    pool: Pool, artifacts: Artifacts, ada: Api, receiver: Receiver
) -> None:
    """H3: the error is one of a fixed list."""
    async with delivering(pool, allow_private=False, attempts=1):
        await end(pool, artifacts, ada, f"http://localhost:{receiver.port}/")
        (delivery,) = await until_over(ada)
    assert delivery["attempts"][0]["error"] == "address_not_allowed"
    assert not receiver.connections
    assert "127.0.0.1" not in json.dumps(delivery)


async def test_deliveries_of_another_user_are_not_found(
    pool: Pool, artifacts: Artifacts, ada: Api, bob: Api, admin: Api
) -> None:
    """A11."""
    submission = await end(pool, artifacts, ada, "https://receiver.example/")
    (delivery,) = (await result(ada, "/v1/webhooks"))["items"]
    assert delivery["state"] == "waiting"
    assert delivery["next_try_at"]
    assert (await result(bob, "/v1/webhooks"))["items"] == []
    for path in (f"/v1/webhooks/{delivery['id']}", f"/v1/submissions/{submission}/webhooks"):
        assert (await bob.get(path)).status_code == 404
        assert (await admin.get(path)).status_code == 200
    assert (await bob.post(f"/v1/webhooks/{delivery['id']}/resend")).status_code == 404
    assert (await bob.get("/v1/webhooks", params={"user": "ada"})).status_code == 403
    assert (await result(admin, "/v1/webhooks", user="ada"))["items"] == [delivery]


async def test_deliveries_are_listed_in_pages_and_by_state(
    pool: Pool, artifacts: Artifacts, ada: Api
) -> None:
    """A8."""
    for number in range(5):
        await end(pool, artifacts, ada, f"https://receiver{number}.example/")
    found: list[str] = []
    cursor: str | None = None
    while True:
        more = {"cursor": cursor} if cursor else {}
        page = await result(ada, "/v1/webhooks", limit=2, **more)
        found += [each["url"] for each in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == [f"https://receiver{number}.example/" for number in range(4, -1, -1)]
    assert (await result(ada, "/v1/webhooks", state="failed"))["items"] == []
    assert len((await result(ada, "/v1/webhooks", state="waiting"))["items"]) == 5
    assert (await ada.get("/v1/webhooks", params={"state": "lost"})).status_code == 422


UNKNOWN = ["x", "whd_\x00", "whd_" + "0" * 26, "whd_" + "é" * 26, "y" * 9999]


@pytest.mark.parametrize("id_", UNKNOWN, ids=range(len(UNKNOWN)))
async def test_an_unknown_delivery_is_not_found(ada: Api, id_: str) -> None:
    path = f"/v1/webhooks/{quote(id_)}"
    assert (await ada.get(path)).status_code == 404
    assert (await ada.post(f"{path}/resend")).status_code == 404


async def test_an_ended_delivery_can_be_resent_one_at_a_time(
    pool: Pool, artifacts: Artifacts, ada: Api
) -> None:
    """H2: as a new delivery."""
    async with receiving(status(500), OK) as receiver:
        submission = await end(pool, artifacts, ada, receiver.url)
        (first,) = (await result(ada, "/v1/webhooks"))["items"]
        path = f"/v1/webhooks/{first['id']}/resend"
        assert (await ada.post(path)).status_code == 409, "it waits still"
        async with delivering(pool, attempts=1):
            await until_over(ada)
        answers = await asyncio.gather(*[ada.post(path) for _ in range(4)])
        assert sorted(each.status_code for each in answers) == [202, 409, 409, 409]
        (again,) = (each.json() for each in answers if each.status_code == 202)
        assert (again["resend_of"], again["state"]) == (first["id"], "waiting")
        async with delivering(pool, attempts=1):
            await until_over(ada)
        both = (await result(ada, f"/v1/submissions/{submission}/webhooks"))["items"]
        assert {each["id"]: each["state"] for each in both} == {
            first["id"]: "failed",
            again["id"]: "delivered",
        }
        assert receiver.ids == [first["id"], again["id"]]
        assert receiver.got[0].body == receiver.got[1].body
        assert (await ada.post(path)).status_code == 202, "as often as one likes"


async def test_the_audit_log_records_a_resend_by_an_admin(
    pool: Pool, artifacts: Artifacts, ada: Api, admin: Api, receiver: Receiver
) -> None:
    """O6."""
    async with delivering(pool):
        await end(pool, artifacts, ada, receiver.url)
        (delivery,) = await until_over(ada)
    assert (await admin.post(f"/v1/webhooks/{delivery['id']}/resend")).status_code == 202
    async with connection(pool) as acquired:
        rows = await acquired.fetch("SELECT actor, act, target FROM audit")
    assert [tuple(row) for row in rows] == [("root", "webhook.resend", delivery["id"])]


async def test_each_account_has_a_secret_that_it_can_rotate(
    pool: Pool, ada: Api, bob: Api, log_lines: Sequence[EventDict]
) -> None:
    """H2: the previous secret signs for a day too; database and log contain no secret."""
    first = await result(ada, "/v1/webhook-secret")
    assert first["secret"].startswith("whsec_")
    assert (first["previous"], first["rotated_at"]) == (None, None)
    assert (await result(bob, "/v1/webhook-secret"))["secret"] != first["secret"]
    answer = await ada.post("/v1/webhook-secret/rotate")
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    second = answer.json()
    assert second["secret"] != first["secret"]
    assert second["previous"]["secret"] == first["secret"]
    assert await result(ada, "/v1/webhook-secret") == second
    third = (await ada.post("/v1/webhook-secret/rotate")).json()
    assert third["previous"]["secret"] == second["secret"]
    async with connection(pool) as acquired:
        await acquired.execute(
            "UPDATE webhook_key SET rotated_at = now() - interval '25 hours'"
        )
        kept = str(await acquired.fetch("SELECT * FROM webhook_key"))
    after = await result(ada, "/v1/webhook-secret")
    assert (after["secret"], after["previous"]) == (third["secret"], None)
    assert "whsec" not in kept + str(log_lines)


async def test_a_token_with_the_scope_read_does_not_show_the_secret(
    pool: Pool, ada: Api
) -> None:
    """O6."""
    async with connection(pool) as acquired:
        token = await accounts.add_token(
            acquired, ada.user.id, "reads", scopes=frozenset({Scope.READ})
        )
    reader = Api(ada.client, User(ada.user.id, "ada", token))
    assert (await reader.get("/v1/webhooks")).status_code == 200
    assert (await reader.get("/v1/webhook-secret")).status_code == 403
    assert (await reader.post("/v1/webhook-secret/rotate")).status_code == 403


@pytest.fixture
async def port(app: FastAPI) -> AsyncIterator[int]:
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=0, log_config=None, lifespan="off")
    )
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve())
        await until(lambda: server.started)
        yield server.servers[0].sockets[0].getsockname()[1]
        server.should_exit = True


def lines_of_the_page() -> str:
    found = re.search(
        r"## Verify.*?```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
    )
    assert found is not None
    return found[1]


async def run_the_page(
    directory: Path, port: int, user: User, request: Request, **other: str
) -> str:
    """Runs the example with the body and the headers that the receiver got."""
    (directory / "body.json").write_bytes(request.body)
    given = {
        "DEEMSTER_URL": f"http://127.0.0.1:{port}",
        "TOKEN": user.token,
        "ID": request.headers["webhook-id"],
        "TIMESTAMP": request.headers["webhook-timestamp"],
        "SIGNATURE": request.headers["webhook-signature"],
        "JUDGE": request.headers["x-judge-signature"],
    }
    process = await asyncio.create_subprocess_exec(
        "sh",
        "-euc",
        lines_of_the_page(),
        cwd=directory,
        env={"PATH": os.environ["PATH"], **given, **other},
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await process.communicate()
    return said.decode()


async def test_the_example_in_the_docs_verifies_a_signature(
    pool: Pool,
    artifacts: Artifacts,
    ada: Api,
    receiver: Receiver,
    port: int,
    tmp_path: Path,
) -> None:
    """H2: with openssl and curl, before and after a rotation; a forged webhook fails."""
    for _ in range(2):
        receiver.got.clear()
        async with delivering(pool):
            await end(pool, artifacts, ada, receiver.url)
            await until_over(ada)
        (request,) = receiver.got
        good = await run_the_page(tmp_path, port, ada.user, request)
        assert good == "webhook-signature: good\nX-Judge-Signature: good\n"
        late = await run_the_page(tmp_path, port, ada.user, request, TIMESTAMP="1")
        assert late == "webhook-signature: BAD\nX-Judge-Signature: good\n"
        forged = replace(request, body=request.body + b" ")
        bad = await run_the_page(tmp_path, port, ada.user, forged)
        assert bad == "webhook-signature: BAD\nX-Judge-Signature: BAD\n"
        await ada.post("/v1/webhook-secret/rotate")


async def test_i1_a_repeated_rotation_with_its_key_rotates_once(ada: Api) -> None:
    """A second rotation would invalidate the secret that receivers still have."""
    first = await result(ada, "/v1/webhook-secret")
    once = await ada.post("/v1/webhook-secret/rotate", key="k")
    again = await ada.post("/v1/webhook-secret/rotate", key="k")
    assert (again.status_code, again.json()) == (200, once.json())
    assert again.headers["cache-control"] == "no-store"
    shown = await result(ada, "/v1/webhook-secret")
    assert shown["previous"]["secret"] == first["secret"]


async def test_d2_the_rate_of_resends_is_limited(
    pool: Pool, artifacts: Artifacts, make_dependencies: MakeDependencies
) -> None:
    """A repeat still gets its first response (I1)."""
    async with running(create_app(make_dependencies(submits_per_minute_user=1))) as client:
        ada = Api(client, await make_user(pool, "ada"))
        for number in range(2):
            await end(pool, artifacts, ada, f"https://receiver{number}.example/")
        async with connection(pool) as acquired:
            await acquired.execute(
                "UPDATE webhook_delivery SET state = 'failed', ended_at = now()"
            )
        paths = [
            f"/v1/webhooks/{each['id']}/resend"
            for each in (await result(ada, "/v1/webhooks"))["items"]
        ]
        first = await ada.post(paths[0], key="k")
        assert first.status_code == 202
        refused = await ada.post(paths[1], key="other")
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) >= 1
        again = await ada.post(paths[0], key="k")
        assert (again.status_code, again.json()) == (202, first.json())
        assert len((await result(ada, "/v1/webhooks"))["items"]) == 3
