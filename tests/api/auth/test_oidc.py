"""O6: log-in by OpenID Connect with a browser."""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from deemster.api.auth import oidc
from deemster.store.pool import Pool, connection
from tests.api.auth.issuer_server import CLIENT, SECRET, IssuerServer
from tests.api.browser import audit_entries, serving
from tests.api.conftest import MakeDependencies

LOGIN, CALLBACK, SESSION = "/v1/oidc/login", "/v1/oidc/callback", "/v1/session"


@pytest.fixture
async def judge(
    issuer: IssuerServer, make_dependencies: MakeDependencies
) -> AsyncIterator[httpx.AsyncClient]:
    dependencies = make_dependencies(
        public_url="http://judge",
        jwt_issuer=issuer.url,
        jwt_role_claim="roles",
        oidc_client_id=CLIENT,
        oidc_client_secret=SECRET,
    )
    async with serving(dependencies) as client:
        yield client


async def go(judge: httpx.AsyncClient, **query: str) -> str:
    """Returns the URL to which the issuer redirects the browser."""
    begun = await judge.get(LOGIN, params=query)
    assert begun.status_code == 303, begun.text
    async with httpx.AsyncClient(trust_env=False, verify=False) as browser:
        at_issuer = await browser.get(begun.headers["location"])
    back: str = at_issuer.headers["location"]
    assert back.startswith(f"http://judge{CALLBACK}?")
    return back


async def test_a_browser_logs_in_at_the_issuer_and_returns(
    issuer: IssuerServer, judge: httpx.AsyncClient, pool: Pool
) -> None:
    issuer.claims = {"preferred_username": "ada", "roles": ["author"]}
    answer = await judge.get(await go(judge, next="/problems?page=2"))
    assert answer.status_code == 303, answer.text
    assert answer.headers["location"] == "/problems?page=2"
    shown = (await judge.get(SESSION)).json()
    assert (shown["user"]["name"], shown["user"]["role"]) == ("ada", "author")
    assert list(judge.cookies) == ["deemster_session"], "the job's is gone"
    made = await judge.post(
        "/v1/tokens", json={"name": "x"}, headers={"X-CSRF-Token": shown["csrf_token"]}
    )
    assert made.status_code == 201
    again = await judge.get(await go(judge))
    assert again.headers["location"] == "/"
    assert [entry[1] for entry in await audit_entries(pool)] == ["user.add", "token.make"]


async def test_the_redirect_to_the_issuer_contains_no_secret(judge: httpx.AsyncClient) -> None:
    begun = await judge.get(LOGIN)
    query = parse_qs(urlsplit(begun.headers["location"]).query)
    assert set(query) == {
        *("response_type", "client_id", "redirect_uri", "scope", "state", "nonce"),
        *("code_challenge", "code_challenge_method"),
    }
    cookie = begun.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Max-Age=600" in cookie
    second = await judge.get(LOGIN)
    other = parse_qs(urlsplit(second.headers["location"]).query)
    for name in ("state", "nonce", "code_challenge"):
        assert other[name] != query[name]


async def test_the_client_secret_is_sent_in_the_form_if_the_issuer_wants_it(
    issuer: IssuerServer, judge: httpx.AsyncClient
) -> None:
    issuer.by_form = True
    assert (await judge.get(await go(judge))).status_code == 303


@pytest.mark.parametrize(
    "path",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        "",
        "evil",
        "/a\r\nSet-Cookie: x=1",
        "/\t/evil.example",
        "/" + "x" * 2000,
        "/é",
    ],
)
async def test_next_must_be_a_path_of_this_site(judge: httpx.AsyncClient, path: str) -> None:
    answer = await judge.get(LOGIN, params={"next": path})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "next"


async def test_a_state_is_valid_once(judge: httpx.AsyncClient) -> None:
    """Not even with its cookie."""
    back = await go(judge)
    kept = dict(judge.cookies)
    assert (await judge.get(back)).status_code == 303
    answer = await judge.get(back)
    assert answer.status_code == 422, "the cookie is gone"
    judge.cookies.update(kept)
    answer = await judge.get(back)
    assert answer.status_code == 422
    assert "already used" in answer.json()["detail"]


async def test_another_browser_can_not_finish_a_log_in(
    judge: httpx.AsyncClient,
) -> None:
    """Otherwise an attacker could log a victim in to the attacker's account."""
    back = await go(judge)
    judge.cookies.clear()
    refused = await judge.get(back)
    assert refused.status_code == 422
    assert refused.json()["type"] == "urn:deemster:error:log_in_failed"
    await judge.get(LOGIN)
    assert (await judge.get(back)).status_code == 422, "the state is of another job"
    assert "deemster_session" not in judge.cookies


async def test_a_forged_cookie_is_refused(judge: httpx.AsyncClient) -> None:
    back = await go(judge, next="/a")
    sealed = judge.cookies[oidc.COOKIE]
    text, _, seal = sealed.partition(".")
    for forged in ("", ".", text, f"{text}x.{seal}", f"{text}.{seal[:-2]}", "é.é"):
        headers = {b"Cookie": f"{oidc.COOKIE}={forged}".encode()}
        judge.cookies.clear()
        assert (await judge.get(back, headers=headers)).status_code == 422, forged


async def test_a_pending_log_in_expires_after_ten_minutes(
    judge: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oidc, "PENDING_S", -1)
    back = await go(judge)
    monkeypatch.undo()
    answer = await judge.get(back)
    assert answer.status_code == 422
    assert "too long ago" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({"nonce": "another"}, 422),
        ({"nonce": None}, 422),
        ({"aud": "another"}, 401),
        ({"aud": [CLIENT, "another"]}, 422),
        ({"aud": [CLIENT, "another"], "azp": "another"}, 422),
        ({"aud": [CLIENT, "another"], "azp": CLIENT}, 303),
        ({"exp": 1}, 401),
        ({"iss": "https://evil.example"}, 401),
    ],
)
async def test_a_response_for_another_log_in_is_refused(
    issuer: IssuerServer, judge: httpx.AsyncClient, claims: dict[str, Any], status: int
) -> None:
    issuer.claims = claims
    answer = await judge.get(await go(judge))
    assert answer.status_code == status
    assert ("deemster_session" in judge.cookies) == (status == 303)


async def test_a_code_that_the_issuer_does_not_know_is_refused(
    issuer: IssuerServer, judge: httpx.AsyncClient
) -> None:
    back = await go(judge)
    issuer.codes.clear()
    answer = await judge.get(back)
    assert answer.status_code == 422
    assert "begin again" in answer.json()["detail"]


async def test_a_log_in_that_the_issuer_refuses_fails(judge: httpx.AsyncClient) -> None:
    back = await go(judge)
    state = parse_qs(urlsplit(back).query)["state"][0]
    answer = await judge.get(CALLBACK, params={"state": state, "error": "access_denied"})
    assert answer.status_code == 422
    assert "refused the log-in" in answer.json()["detail"]


async def test_an_issuer_that_is_down_gives_503(
    issuer: IssuerServer, judge: httpx.AsyncClient
) -> None:
    await issuer.stop()
    answer = await judge.get(LOGIN)
    assert answer.status_code == 503
    assert issuer.url not in answer.text


async def test_a_disabled_account_can_not_log_in(judge: httpx.AsyncClient, pool: Pool) -> None:
    await judge.get(await go(judge))
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE account SET disabled_at = now()")
    assert (await judge.get(await go(judge))).status_code == 401


async def test_without_its_settings_oidc_is_not_found(client: httpx.AsyncClient) -> None:
    for path in (LOGIN, CALLBACK):
        answer = await client.get(path)
        assert answer.status_code == 404
        assert "oidc_client_id" in answer.json()["detail"]
