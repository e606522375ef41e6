"""Request ids, headers and log lines of every request; they contain no secret (O2)."""

from typing import Any

import httpx
import pytest

from deemster.store.pool import Pool
from tests.api.conftest import Api, make_worker, program
from tests.builders import make_problem

PATH = "/v1/submissions"


async def test_the_clients_request_id_is_returned(client: httpx.AsyncClient) -> None:
    answer = await client.get("/healthz", headers={"X-Request-Id": "abc-1.2_3"})
    assert answer.headers["x-request-id"] == "abc-1.2_3"


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, 'q"}', "new\tline"])
async def test_an_unsafe_request_id_is_replaced(client: httpx.AsyncClient, given: str) -> None:
    first = await client.get("/healthz", headers={"X-Request-Id": given})
    second = await client.get("/healthz", headers={"X-Request-Id": given})
    assert first.headers["x-request-id"] not in {given, second.headers["x-request-id"]}
    assert len(first.headers["x-request-id"]) == 24


async def test_responses_are_not_cached_and_not_sniffed(ada: Api) -> None:
    for answer in (
        await ada.get("/v1/submissions"),
        await ada.get("/v1/problems/prob_none"),
        await ada.client.get("/v1/problems"),
        await ada.client.get("/nothing"),
    ):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


async def test_each_request_has_one_log_line(
    ada: Api, pool: Pool, log_lines: list[dict[str, Any]]
) -> None:
    """O2, P4: account, route and duration; by the pattern of the route, to be countable."""
    await make_problem(pool)
    await make_worker(pool)
    answer = await ada.post(PATH, program(source_code="print('my-own-words')"), key="my-key")
    submission = answer.json()["id"]
    await ada.show(submission)
    await ada.client.get("/nothing?secret=words")
    lines = [line for line in log_lines if line["event"] == "request.answered"]
    shown = [(line["method"], line["path"], line["status"]) for line in lines]
    assert shown == [
        ("POST", PATH, 202),
        ("GET", PATH + "/{id}", 200),
        ("GET", None, 404),
    ]
    assert lines[0]["requestId"] == answer.headers["x-request-id"]
    assert [line.get("userId") for line in lines] == [ada.user.id, ada.user.id, None]
    assert all(line["ms"] >= 0 for line in lines)
    for secret in (ada.user.token, "my-own-words", "my-key", "secret"):
        assert secret not in str(log_lines)
