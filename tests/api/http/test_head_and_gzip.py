"""A6: HEAD answers as GET without a body, and large answers are compressed."""

import httpx
import pytest

from deemster.store.pool import Pool
from tests.api.conftest import Api
from tests.builders import make_submission


@pytest.mark.parametrize("path", ["/healthz", "/v1/problems", "/v1/submissions", "/docs", "/"])
async def test_head_works_where_get_does(ada: Api, path: str) -> None:
    got = await ada.client.get(path, headers=ada.user.headers)
    head = await ada.client.head(path, headers=ada.user.headers)
    assert (head.status_code, head.content) == (got.status_code, b"")
    assert head.headers["content-type"] == got.headers["content-type"]


async def test_head_of_a_submission_and_of_its_stream_end(ada: Api, pool: Pool) -> None:
    submission = await make_submission(pool, ada.user.id)
    for path in ("", "/events"):
        url = f"/v1/submissions/{submission}{path}"
        head = await ada.client.head(url, headers=ada.user.headers)
        assert (head.status_code, head.content) == (200, b"")
    unknown = await ada.client.head("/v1/submissions/sub_none", headers=ada.user.headers)
    assert unknown.status_code == 404


async def test_head_is_refused_where_get_is(client: httpx.AsyncClient) -> None:
    assert (await client.head("/v1/problems")).status_code == 401
    refused = await client.head("/v1/accounts")
    assert refused.status_code == 405
    wrong = await client.delete("/healthz")
    assert wrong.headers["allow"] == "GET, HEAD"


async def test_large_answers_are_compressed_for_clients_that_ask(ada: Api) -> None:
    large = await ada.client.get("/openapi.json", headers={"Accept-Encoding": "gzip"})
    assert large.headers["content-encoding"] == "gzip"
    assert large.json()["openapi"]
    plain = await ada.client.get("/openapi.json", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    small = await ada.client.get("/healthz", headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in small.headers
