"""O6: another site can make a browser send its cookie, but can't change anything."""

import httpx
import pytest
from fastapi import FastAPI

from deemster.store.pool import Pool
from tests.api.browser import PATH, browsing, log_in, make_person, serving
from tests.api.conftest import Api, MakeDependencies

TOKENS = "/v1/tokens"
BODY = {"name": "x"}


async def test_requests_that_change_something_need_the_csrf_token(
    app: FastAPI, client: object, pool: Pool
) -> None:
    await make_person(pool)
    async with browsing(app) as browser:
        for given in (None, "", "0" * 64, browser.csrf[:-1], browser.csrf.upper() + "é"):
            headers = {b"X-CSRF-Token": given.encode("latin-1")} if given is not None else {}
            answer = await browser.client.post(TOKENS, json=BODY, headers=headers)
            assert answer.status_code == 403, given
            assert "X-CSRF-Token" in answer.json()["detail"]
        assert (await browser.send("POST", TOKENS, BODY)).status_code == 201


async def test_submitting_with_a_cookie_needs_the_csrf_token(
    app: FastAPI, client: object, pool: Pool
) -> None:
    """That route does not use FastAPI's dependencies."""
    await make_person(pool)
    async with browsing(app) as browser:
        assert (await browser.client.post("/v1/submissions", json={})).status_code == 403
        assert (await browser.send("POST", "/v1/submissions", {})).status_code == 422


async def test_a_csrf_token_is_valid_for_one_session(
    app: FastAPI, client: object, pool: Pool
) -> None:
    await make_person(pool)
    async with browsing(app) as one, browsing(app) as other:
        headers = {"X-CSRF-Token": other.csrf}
        answer = await one.client.post(TOKENS, json=BODY, headers=headers)
        assert answer.status_code == 403


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://judge", 201),
        ("https://judge", 201),
        ("HTTP://JUDGE", 201),
        ("https://judge.example", 201),
        ("https://evil.example", 403),
        ("http://judge.evil.example", 403),
        ("http://judge.example", 403),
        ("https://judge.example.evil", 403),
        ("null", 403),
        ("", 403),
        ("http://[", 403),
    ],
)
async def test_a_page_of_another_site_is_refused_even_with_the_token(
    make_dependencies: MakeDependencies, pool: Pool, origin: str, status: int
) -> None:
    """`judge` is the host of the request, judge.example the public one."""
    await make_person(pool)
    async with serving(make_dependencies(public_url="https://judge.example/base")) as client:
        answer = await log_in(client, Origin=origin)
        assert answer.status_code == status
        answer = await log_in(client)
        # What the test's client keeps back, since it asks over http.
        cookie = answer.headers["set-cookie"].partition(";")[0]
        headers = {
            "X-CSRF-Token": answer.json()["csrf_token"],
            "Origin": origin,
            "Cookie": cookie,
        }
        answer = await client.post(TOKENS, json=BODY, headers=headers)
        assert answer.status_code == status


async def test_a_request_with_a_bearer_token_needs_no_csrf_token(ada: Api) -> None:
    headers = {**ada.user.headers, "Origin": "https://elsewhere.example"}
    answer = await ada.client.post(TOKENS, json=BODY, headers=headers)
    assert answer.status_code == 201


async def test_reading_needs_no_csrf_token(client: httpx.AsyncClient, pool: Pool) -> None:
    await make_person(pool)
    await log_in(client)
    assert (await client.get(PATH, headers={"Origin": "null"})).status_code == 200
