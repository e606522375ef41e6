"""A6: HEAD answers as GET without a body, and large answers are compressed."""

import httpx

from deemster.store.pool import Pool
from tests.api.conftest import Api
from tests.builders import make_submission


async def test_head_works_where_get_does(admin: Api) -> None:
    paths = (await admin.client.get("/openapi.json")).json()["paths"]
    plain = [path for path in paths if "get" in paths[path] and "{" not in path]
    assert len(plain) > 20
    for path in ("/", "/docs", *plain):
        if path.endswith("/events"):
            continue  # it has no end
        got = await admin.client.get(path, headers=admin.user.headers)
        head = await admin.client.head(path, headers=admin.user.headers)
        assert (head.status_code, head.content) == (got.status_code, b""), path
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
