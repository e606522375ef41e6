"""O6: sign-up, and changes of the own password."""

import asyncio

import httpx
import pytest
from fastapi import FastAPI

from deemster.domain.account import Scope
from deemster.store import accounts
from deemster.store.pool import Pool, connection
from tests.api.browser import (
    PASSWORD,
    PATH,
    audit_entries,
    browsing,
    log_in,
    make_person,
    serving,
)
from tests.api.conftest import Api, MakeDependencies, User

SIGN_UP, CHANGE = "/v1/accounts", "/v1/account/password"
NEW = "quite other words"


async def test_sign_up_needs_the_setting(client: httpx.AsyncClient) -> None:
    answer = await client.post(SIGN_UP, json={"name": "ada", "password": PASSWORD})
    assert answer.status_code == 404
    assert "ask an admin" in answer.json()["detail"]


async def test_a_user_who_signed_up_can_log_in(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    async with serving(make_dependencies(sign_up=True)) as client:
        body = {"name": "ada", "password": PASSWORD}
        made = await client.post(SIGN_UP, json=body)
        assert made.status_code == 201, made.text
        assert made.json()["role"] == "user"
        assert (await client.post(SIGN_UP, json=body)).status_code == 409, "the name is taken"
        assert (await log_in(client)).status_code == 201
    assert [entry[:2] for entry in await audit_entries(pool)] == [("ada", "user.sign_up")]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"password": "short one"}, "at least 10 characters"),
        ({"name": "../x"}, "name"),
        ({"name": "x" * 65}, "name"),
        ({"name": "ada\n"}, "name"),
        ({"role": "admin"}, "unknown field"),
    ],
)
async def test_an_invalid_sign_up_names_the_field(
    make_dependencies: MakeDependencies, change: dict[str, str], said: str
) -> None:
    """A6: also, nobody can sign up as an admin."""
    async with serving(make_dependencies(sign_up=True)) as client:
        body = {"name": "ada", "password": PASSWORD, **change}
        answer = await client.post(SIGN_UP, json=body)
    assert answer.status_code == 422
    assert said in answer.json()["detail"]


async def test_sign_ups_per_address_are_limited(
    make_dependencies: MakeDependencies,
) -> None:
    """D2."""
    async with serving(
        make_dependencies(sign_up=True, refused_logins_per_minute_ip=2)
    ) as client:
        answers = [
            await client.post(SIGN_UP, json={"name": f"u{number}", "password": PASSWORD})
            for number in range(3)
        ]
    assert [answer.status_code for answer in answers] == [201, 201, 429]


async def test_a_page_of_another_site_can_not_sign_up(
    make_dependencies: MakeDependencies,
) -> None:
    async with serving(make_dependencies(sign_up=True)) as client:
        body = {"name": "ada", "password": PASSWORD}
        headers = {"Origin": "https://evil.example"}
        assert (await client.post(SIGN_UP, json=body, headers=headers)).status_code == 403


async def test_a_new_password_ends_the_other_sessions(
    app: FastAPI, client: httpx.AsyncClient, pool: Pool
) -> None:
    await make_person(pool)
    body = {"current_password": PASSWORD, "password": NEW}
    async with browsing(app) as here, browsing(app) as there:
        assert (await there.client.get(PATH)).status_code == 200
        answer = await here.send("PUT", CHANGE, body)
        assert answer.status_code == 200, answer.text
        assert (await there.client.get(PATH)).status_code == 401
        assert (await here.client.get(PATH)).status_code == 200
    assert (await log_in(client)).status_code == 401
    assert (await log_in(client, password=NEW)).status_code == 201
    assert [entry[:2] for entry in await audit_entries(pool)] == [("ada", "user.password")]


async def test_a_password_change_needs_the_current_password(
    app: FastAPI, client: httpx.AsyncClient, pool: Pool
) -> None:
    """A forgotten browser is not enough; wrong guesses count as in a log-in."""
    await make_person(pool)
    async with browsing(app) as browser:
        for given in ({}, {"current_password": "wrong words here"}):
            answer = await browser.send("PUT", CHANGE, {**given, "password": NEW})
            assert answer.status_code == 422
            assert answer.json()["errors"][0]["field"] == "current_password"
        for _ in range(8):
            await browser.send("PUT", CHANGE, {"password": NEW})
        body = {"current_password": PASSWORD, "password": NEW}
        assert (await browser.send("PUT", CHANGE, body)).status_code == 429
        assert (await log_in(browser.client)).status_code == 429
        browser.client.cookies.delete("deemster_device")
        for _ in range(10):  # as a stranger
            answer = await browser.send("PUT", CHANGE, {"password": NEW})
            assert answer.status_code == 422
        assert (await browser.send("PUT", CHANGE, body)).status_code == 429
    assert (await log_in(client)).status_code == 429


async def test_of_two_concurrent_password_changes_one_wins(
    app: FastAPI, client: httpx.AsyncClient, pool: Pool
) -> None:
    """O6: the loser can't overwrite the new password."""
    await make_person(pool)
    mine, theirs = NEW, "words of a thief"
    async with browsing(app) as here, browsing(app) as there:
        answers = await asyncio.gather(
            here.send("PUT", CHANGE, {"current_password": PASSWORD, "password": mine}),
            there.send("PUT", CHANGE, {"current_password": PASSWORD, "password": theirs}),
        )
    won = [answer.status_code == 200 for answer in answers]
    assert sorted(won) == [False, True]
    held = mine if won[0] else theirs
    assert (await log_in(client, password=held)).status_code == 201


async def test_a_first_password_needs_all_scopes(ada: Api, pool: Pool) -> None:
    """A password gives all scopes, so a token with fewer can't set one."""
    async with connection(pool) as acquired:
        token = await accounts.add_token(
            acquired, ada.user.id, "x", scopes=frozenset({Scope.ACCOUNT})
        )
    less = User(ada.user.id, "ada", token)
    body = {"password": NEW}
    answer = await ada.client.put(CHANGE, json=body, headers=less.headers)
    assert answer.status_code == 403
    answer = await ada.client.put(CHANGE, json=body, headers=ada.user.headers)
    assert answer.status_code == 200
    assert (await log_in(ada.client, password=NEW)).status_code == 201
