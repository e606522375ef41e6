"""Every response has the security headers (A11)."""

import re

import httpx
import pytest

from tests.api.browser import serving
from tests.api.conftest import Api, MakeDependencies

PATHS = ["/v1/problems", "/v1/problems/prob_none", "/nothing", "/healthz", "/docs", "/"]


@pytest.mark.parametrize("path", PATHS)
async def test_every_response_has_the_security_headers(ada: Api, path: str) -> None:
    for answer in (await ada.get(path), await ada.client.get(path)):
        result = answer.headers
        assert result["x-frame-options"] == "DENY"
        assert result["x-content-type-options"] == "nosniff"
        assert result["referrer-policy"] == "no-referrer"
        assert result["cross-origin-opener-policy"] == "same-origin"
        assert result["cross-origin-resource-policy"] == "same-origin"
        assert "default-src 'none'" in result["content-security-policy"]
        assert "frame-ancestors 'none'" in result["content-security-policy"]
        assert "strict-transport-security" not in result
        assert len(result.get_list("content-security-policy")) == 1


async def test_only_a_judge_with_an_https_url_sends_strict_transport_security(
    make_dependencies: MakeDependencies,
) -> None:
    async with serving(make_dependencies(public_url="https://judge.example")) as client:
        result = (await client.get("/healthz")).headers
        assert result["strict-transport-security"] == "max-age=31536000"


async def test_the_policy_of_the_docs_page_allows_its_files(client: httpx.AsyncClient) -> None:
    """A7: the interactive page works, and loads nothing from other sites."""
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
