"""Headers that keep browsers from being used against people: on every answer (A11)."""

import re

import httpx
import pytest

from tests.api.auth.people import serving
from tests.api.conftest import Api, MakeDependencies

PATHS = ["/v1/problems", "/v1/problems/prob_none", "/nothing", "/healthz", "/docs", "/"]


@pytest.mark.parametrize("path", PATHS)
async def test_every_answer_has_them(ada: Api, path: str) -> None:
    for answer in (await ada.get(path), await ada.client.get(path)):
        told = answer.headers
        assert told["x-frame-options"] == "DENY"
        assert told["x-content-type-options"] == "nosniff"
        assert told["referrer-policy"] == "no-referrer"
        assert told["cross-origin-opener-policy"] == "same-origin"
        assert told["cross-origin-resource-policy"] == "same-origin"
        assert "default-src 'none'" in told["content-security-policy"]
        assert "frame-ancestors 'none'" in told["content-security-policy"]
        assert "strict-transport-security" not in told
        assert len(told.get_list("content-security-policy")) == 1


async def test_only_what_is_reached_by_https_stays_there(
    make_dependencies: MakeDependencies,
) -> None:
    async with serving(make_dependencies(public_url="https://judge.example")) as client:
        told = (await client.get("/healthz")).headers
        assert told["strict-transport-security"] == "max-age=31536000"


async def test_the_page_of_the_docs_may_load_what_it_loads(client: httpx.AsyncClient) -> None:
    """A7: the interactive page works still, and runs nothing of other sites."""
    page = await client.get("/docs")
    policy = page.headers["content-security-policy"]
    sources = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    parts = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(parts) == 4
    for part in parts:
        assert part.startswith("/docs/")
        loaded = await client.get(part)
        assert loaded.status_code == 200, part
        assert loaded.content
    assert sources["script-src"] == "'self'"
    assert "<script>" not in page.text
    assert (await client.get("/docs/__init__.py")).status_code == 404
    assert sources["connect-src"] == "'self'"
    assert "unsafe" not in (await client.get("/healthz")).headers["content-security-policy"]
