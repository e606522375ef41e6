"""O6: log-in by password, session cookies and log-out."""

import httpx
import pytest
from fastapi import FastAPI

from deemster.api.auth import auth
from deemster.api.auth.cookies import SESSION
from deemster.api.auth.passwords import HASHER, Passwords, normalise
from deemster.store.accounts import token_digest
from deemster.store.pool import Pool, connection
from tests.api.browser import (
    PASSWORD,
    PATH,
    browsing,
    log_in,
    make_person,
    serving,
)
from tests.api.conftest import QUICK, Api, MakeDependencies
from tests.waiting import until


async def test_a_log_in_sets_a_session_cookie(client: httpx.AsyncClient, pool: Pool) -> None:
    account = await make_person(pool)
    answer = await log_in(client)
    assert answer.status_code == 201, answer.text
    assert answer.json()["user"] == {"id": account, "name": "ada", "role": "user"}
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("deemster_session=")
    for part in ("HttpOnly", "SameSite=lax", "Path=/", "Max-Age=604800"):
        assert part in cookie
    assert "Secure" not in cookie
    shown = await client.get(PATH)
    assert shown.status_code == 200
    assert shown.json()["user"]["name"] == "ada"
    assert shown.json()["csrf_token"] == answer.json()["csrf_token"]
    assert (await client.get("/v1/problems")).status_code == 200


async def test_only_a_hash_of_the_cookie_is_stored(
    client: httpx.AsyncClient, pool: Pool
) -> None:
    await make_person(pool)
    await log_in(client)
    secret = client.cookies["deemster_session"]
    async with connection(pool) as acquired:
        row = await acquired.fetchrow("SELECT * FROM session")
    assert row is not None
    assert row["digest"] == token_digest(secret)
    assert secret not in str(dict(row))


async def test_over_https_the_cookie_has_the_host_prefix(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    await make_person(pool)
    async with serving(make_dependencies(public_url="https://judge.example")) as client:
        cookie = (await log_in(client)).headers["set-cookie"]
    assert cookie.startswith("__Host-deemster_session=")
    assert "Secure" in cookie
    assert "Domain" not in cookie


@pytest.mark.parametrize(
    ("name", "password"),
    [
        ("ada", "wrong words here"),
        ("nobody", PASSWORD),
        ("tokens", PASSWORD),
        ("gone", PASSWORD),
    ],
)
async def test_every_failed_log_in_gets_the_same_response(
    client: httpx.AsyncClient, pool: Pool, name: str, password: str
) -> None:
    """O6: for a wrong password, an unknown name, no password and a disabled account."""
    await make_person(pool)
    gone = await make_person(pool, "gone")
    async with connection(pool) as acquired:
        await acquired.execute("INSERT INTO account VALUES ('usr_t', 'tokens', 'user')")
        await acquired.execute("UPDATE account SET disabled_at = now() WHERE id = $1", gone)
    answer = await log_in(client, name, password)
    assert answer.status_code == 401
    assert answer.json()["type"] == "urn:deemster:error:wrong_password"
    assert answer.json()["detail"] == (
        "The name or the password is wrong, or the account is disabled."
    )
    assert "set-cookie" not in answer.headers


async def test_a_log_out_ends_the_session(app: FastAPI, client: object, pool: Pool) -> None:
    await make_person(pool)
    async with browsing(app) as browser:
        kept = dict(browser.client.cookies)
        assert (await browser.send("DELETE", PATH)).status_code == 200
        assert SESSION not in browser.client.cookies
        browser.client.cookies.update(kept)
        assert (await browser.client.get(PATH)).status_code == 401


async def test_a_session_expires(make_dependencies: MakeDependencies, pool: Pool) -> None:
    await make_person(pool)
    async with serving(make_dependencies()) as client:
        await log_in(client)
        assert (await client.get(PATH)).status_code == 200
        async with connection(pool) as acquired:
            await acquired.execute(
                "UPDATE session SET created_at = now() - interval '2 hours',"
                " expires_at = now() - interval '1 hour'"
            )
        await until(lambda: answers(client, 401))


async def test_each_use_extends_the_session(client: httpx.AsyncClient, pool: Pool) -> None:
    """Written in the background, at most once a minute."""
    await make_person(pool)
    await log_in(client)
    async with connection(pool) as acquired:
        await acquired.execute(
            "UPDATE session SET seen_at = now() - interval '2 minutes',"
            " expires_at = now() + interval '1 hour'"
        )
    assert (await client.get(PATH)).status_code == 200

    async def is_longer() -> bool:
        async with connection(pool) as acquired:
            return bool(
                await acquired.fetchval(
                    "SELECT expires_at > now() + interval '6 days' FROM session"
                )
            )

    await until(is_longer)
    async with connection(pool) as acquired:
        before = await acquired.fetchval("SELECT seen_at FROM session")
    assert (await client.get(PATH)).status_code == 200
    async with connection(pool) as acquired:
        assert await acquired.fetchval("SELECT seen_at FROM session") == before


async def test_a_log_in_deletes_expired_sessions(client: httpx.AsyncClient, pool: Pool) -> None:
    account = await make_person(pool)
    async with connection(pool) as acquired:
        await acquired.execute(
            "INSERT INTO session (digest, account_id, created_at, expires_at)"
            " SELECT sha256(n::text::bytea), $1, now() - interval '2 h', now() - interval '1 h'"
            " FROM generate_series(1, 20) AS n",
            account,
        )
    await log_in(client)
    async with connection(pool) as acquired:
        assert await acquired.fetchval("SELECT count(*) FROM session") == 1


async def test_an_outdated_password_hash_is_replaced(
    make_dependencies: MakeDependencies, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auth, "Passwords", Passwords)
    account = await make_person(pool)
    async with serving(make_dependencies()) as client:
        assert (await log_in(client)).status_code == 201
        async with connection(pool) as acquired:
            row = await acquired.fetchrow("SELECT password FROM account WHERE id = $1", account)
        assert row is not None
        assert not HASHER.check_needs_rehash(row["password"])
        assert (await log_in(client)).status_code == 201


async def test_passwords_are_compared_in_unicode_normal_form(
    client: httpx.AsyncClient, pool: Pool
) -> None:
    """NFKC: é as one or two code points, full-width digits."""
    typed, other = "cafe\u0301 \uff11\uff12\uff13\uff14\uff15\uff16", "caf\u00e9 123456"
    await make_person(pool, hashed=QUICK.hash(normalise(typed)))
    assert (await log_in(client, password=other)).status_code == 201


async def test_a_token_takes_precedence_over_a_cookie(ada: Api, pool: Pool) -> None:
    await make_person(pool, "grace")
    await log_in(ada.client, "grace")
    assert (await ada.client.get(PATH)).json()["user"]["name"] == "grace"
    shown = (await ada.get(PATH)).json()
    assert shown["user"]["name"] == "ada"
    assert "csrf_token" not in shown
    assert shown["token_id"].startswith("tok_")
    bad = {"Authorization": "Bearer deem_none"}
    assert (await ada.client.get(PATH, headers=bad)).status_code == 401


async def test_a_token_can_not_log_out(ada: Api) -> None:
    answer = await ada.delete(PATH)
    assert answer.status_code == 409
    assert "DELETE /v1/tokens" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"name": "ada"}, 422),
        ({"name": "ada", "password": ""}, 422),
        ({"name": "a\x00", "password": PASSWORD}, 422),
        ({"name": "ada", "password": "x" * 1025}, 422),
        ({"name": "ada", "password": PASSWORD, "remember": True}, 422),
        ({"name": "ada", "password": "x" * 40_000}, 413),
    ],
)
async def test_an_invalid_log_in_request_is_refused(
    client: httpx.AsyncClient, body: object, status: int
) -> None:
    """A6, D3: also, the size of the body is limited."""
    assert (await client.post(PATH, json=body)).status_code == status


async def test_the_log_contains_no_password(
    client: httpx.AsyncClient, pool: Pool, log_lines: list[object]
) -> None:
    await make_person(pool)
    await log_in(client)
    await log_in(client, password="wrong words here")
    assert PASSWORD not in str(log_lines)
    assert "wrong words here" not in str(log_lines)


async def answers(client: httpx.AsyncClient, status: int) -> bool:
    return (await client.get(PATH)).status_code == status
