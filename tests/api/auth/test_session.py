"""O6: people log in by a password, and are known by a cookie until they leave."""

import httpx
import pytest
from fastapi import FastAPI

from deemster.api.auth import auth
from deemster.api.auth.cookies import SESSION
from deemster.api.auth.passwords import HASHER, Passwords, normal
from deemster.store.accounts import token_digest
from deemster.store.pool import Pool, connection
from tests.api.auth.people import (
    PASSWORD,
    PATH,
    QUICK,
    browsing,
    enter,
    make_person,
    serving,
)
from tests.api.conftest import Api, MakeDependencies
from tests.waiting import until


async def test_who_logs_in_is_known_by_a_cookie(client: httpx.AsyncClient, pool: Pool) -> None:
    account = await make_person(pool)
    answer = await enter(client)
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


async def test_only_a_hash_of_the_cookie_is_kept(client: httpx.AsyncClient, pool: Pool) -> None:
    await make_person(pool)
    await enter(client)
    secret = client.cookies["deemster_session"]
    async with connection(pool) as acquired:
        row = await acquired.fetchrow("SELECT * FROM session")
    assert row is not None
    assert row["digest"] == token_digest(secret)
    assert secret not in str(dict(row))


async def test_over_https_the_cookie_is_of_this_host_only(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    await make_person(pool)
    async with serving(make_dependencies(public_url="https://judge.example")) as client:
        cookie = (await enter(client)).headers["set-cookie"]
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
async def test_whatever_is_wrong_the_answer_is_the_same(
    client: httpx.AsyncClient, pool: Pool, name: str, password: str
) -> None:
    """O6: a wrong password, no such name, no password, disabled: nobody can tell which."""
    await make_person(pool)
    gone = await make_person(pool, "gone")
    async with connection(pool) as acquired:
        await acquired.execute("INSERT INTO account VALUES ('usr_t', 'tokens', 'user')")
        await acquired.execute("UPDATE account SET disabled_at = now() WHERE id = $1", gone)
    answer = await enter(client, name, password)
    assert answer.status_code == 401
    assert answer.json()["type"] == "urn:deemster:error:wrong_password"
    assert answer.json()["detail"] == (
        "Name or password are wrong, or the account is disabled."
    )
    assert "set-cookie" not in answer.headers


async def test_who_leaves_is_known_no_more(app: FastAPI, client: object, pool: Pool) -> None:
    await make_person(pool)
    async with browsing(app) as browser:
        kept = dict(browser.client.cookies)
        assert (await browser.ask("DELETE", PATH)).status_code == 200
        assert SESSION not in browser.client.cookies
        browser.client.cookies.update(kept)
        assert (await browser.client.get(PATH)).status_code == 401


async def test_a_log_in_is_over_after_its_time(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    await make_person(pool)
    async with serving(make_dependencies()) as client:
        await enter(client)
        assert (await client.get(PATH)).status_code == 200
        async with connection(pool) as acquired:
            await acquired.execute(
                "UPDATE session SET created_at = now() - interval '2 hours',"
                " expires_at = now() - interval '1 hour'"
            )
        await until(lambda: answers(client, 401))


async def test_each_use_makes_it_hold_longer(client: httpx.AsyncClient, pool: Pool) -> None:
    """Written beside the request, at most once a minute."""
    await make_person(pool)
    await enter(client)
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


async def test_who_logs_in_takes_those_along_that_are_over(
    client: httpx.AsyncClient, pool: Pool
) -> None:
    account = await make_person(pool)
    async with connection(pool) as acquired:
        await acquired.execute(
            "INSERT INTO session (digest, account_id, created_at, expires_at)"
            " SELECT sha256(n::text::bytea), $1, now() - interval '2 h', now() - interval '1 h'"
            " FROM generate_series(1, 20) AS n",
            account,
        )
    await enter(client)
    async with connection(pool) as acquired:
        assert await acquired.fetchval("SELECT count(*) FROM session") == 1


async def test_a_hash_of_old_parameters_is_made_anew(
    make_dependencies: MakeDependencies, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auth, "Passwords", Passwords)
    account = await make_person(pool)
    async with serving(make_dependencies()) as client:
        assert (await enter(client)).status_code == 201
        async with connection(pool) as acquired:
            row = await acquired.fetchrow("SELECT password FROM account WHERE id = $1", account)
        assert row is not None
        assert not HASHER.check_needs_rehash(row["password"])
        assert (await enter(client)).status_code == 201


async def test_the_same_letters_typed_otherwise_are_the_same_password(
    client: httpx.AsyncClient, pool: Pool
) -> None:
    """NFKC: an é of one or of two code points, full-width digits."""
    typed, other = "cafe\u0301 \uff11\uff12\uff13\uff14\uff15\uff16", "caf\u00e9 123456"
    await make_person(pool, hashed=QUICK.hash(normal(typed)))
    assert (await enter(client, password=other)).status_code == 201


async def test_a_token_is_asked_before_a_cookie(ada: Api, pool: Pool) -> None:
    await make_person(pool, "grace")
    await enter(ada.client, "grace")
    assert (await ada.client.get(PATH)).json()["user"]["name"] == "grace"
    shown = (await ada.get(PATH)).json()
    assert shown["user"]["name"] == "ada"
    assert "csrf_token" not in shown
    assert shown["token_id"].startswith("tok_")
    bad = {"Authorization": "Bearer deem_none"}
    assert (await ada.client.get(PATH, headers=bad)).status_code == 401


async def test_a_token_has_no_log_in_to_end(ada: Api) -> None:
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
async def test_what_is_no_log_in_is_refused(
    client: httpx.AsyncClient, body: object, status: int
) -> None:
    """A6, D3: and a stranger can't send much."""
    assert (await client.post(PATH, json=body)).status_code == status


async def test_no_password_gets_into_the_log(
    client: httpx.AsyncClient, pool: Pool, log_lines: list[object]
) -> None:
    await make_person(pool)
    await enter(client)
    await enter(client, password="wrong words here")
    assert PASSWORD not in str(log_lines)
    assert "wrong words here" not in str(log_lines)


async def answers(client: httpx.AsyncClient, status: int) -> bool:
    return (await client.get(PATH)).status_code == status
