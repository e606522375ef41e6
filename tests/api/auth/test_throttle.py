"""O6, D2: guesses are limited, and reveal nothing beyond the limit."""

import asyncio

import httpx
import pytest
from fastapi import FastAPI

from deemster.api.auth import throttle
from deemster.api.auth.passwords import HASHER, Passwords, TooManyLogIns, dummy_hash
from deemster.api.auth.throttle import GUESSES
from deemster.store.pool import Pool
from tests.api.browser import PASSWORD, log_in, make_person, serving
from tests.api.conftest import Api, MakeDependencies


def client_from(app: FastAPI, address: str) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=app, client=(address, 1))
    return httpx.AsyncClient(transport=transport, base_url="http://judge")


async def test_wrong_passwords_per_name_are_limited_from_all_addresses(
    app: FastAPI, client: object, pool: Pool
) -> None:
    """Beyond the limit, the right password gets the same response as a wrong one."""
    await make_person(pool)
    await make_person(pool, "grace")
    for number in range(GUESSES):
        async with client_from(app, f"192.0.2.{number}") as guesser:
            assert (await log_in(guesser, password="wrong words here")).status_code == 401
    async with client_from(app, "198.51.100.1") as guesser:
        for password in ("wrong words here", PASSWORD):
            answer = await log_in(guesser, password=password)
            assert answer.status_code == 429
            assert 1 <= int(answer.headers["retry-after"]) <= 30
            assert "set-cookie" not in answer.headers
        assert (await log_in(guesser, "grace")).status_code == 201


async def test_wrong_passwords_per_address_are_limited_for_all_names(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    await make_person(pool)
    async with serving(make_dependencies(refused_logins_per_minute_ip=2)) as client:
        for name in ("one", "two"):
            assert (await log_in(client, name)).status_code == 401
        assert (await log_in(client, "three")).status_code == 429
        assert (await log_in(client)).status_code == 429


async def test_correct_passwords_do_not_count_as_guesses(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    await make_person(pool)
    async with serving(make_dependencies(refused_logins_per_minute_ip=1)) as client:
        for _ in range(4):
            assert (await log_in(client)).status_code == 201


async def test_correct_log_ins_in_a_row_are_limited(
    client: httpx.AsyncClient, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each log-in occupies a core for a while, so correct ones are limited too."""
    monkeypatch.setattr(throttle, "LOG_INS", 3)
    monkeypatch.setattr(throttle, "LOG_IN_EVERY_S", 3600)
    await make_person(pool)
    await make_person(pool, "bob")
    answers = [await log_in(client) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [201, 201, 201]
    refused = await log_in(client)
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) > 60
    change = {"current_password": PASSWORD, "password": "four rather plain words"}
    headers = {"X-CSRF-Token": answers[-1].json()["csrf_token"]}
    answer = await client.put("/v1/account/password", json=change, headers=headers)
    assert answer.status_code == 429
    assert (await log_in(client, "bob")).status_code == 201


async def test_unknown_tokens_are_limited_and_valid_ones_are_not(
    make_dependencies: MakeDependencies, pool: Pool, ada: Api
) -> None:
    async with serving(make_dependencies(refused_logins_per_minute_ip=3)) as client:
        for number in range(3):
            headers = {"Authorization": f"Bearer deem_{number}"}
            assert (await client.get("/v1/problems", headers=headers)).status_code == 401
        answer = await client.get("/v1/problems", headers={"Authorization": "Bearer deem_9"})
        assert answer.status_code == 429
        assert "retry-after" in answer.headers
        good = await client.get("/v1/problems", headers=ada.user.headers)
        assert good.status_code == 200
        assert (await client.get("/v1/problems")).status_code == 401, "nothing was shown"


async def test_an_open_page_with_an_expired_session_does_not_lock_out_its_user(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    """It sends requests with an expired session; others still log in from that address."""
    await make_person(pool)
    async with serving(make_dependencies(refused_logins_per_minute_ip=2)) as client:
        over = {"Cookie": "deemster_session=over"}
        answers = [await client.get("/v1/session", headers=over) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [401, 401, 429]
        assert (await log_in(client)).status_code == 201


async def test_a_flood_of_log_ins_is_refused() -> None:
    """Hashing is limited, and log-ins are refused if too many wait."""
    passwords = Passwords(at_once=1, max_waiting=1)
    entered, leave = asyncio.Event(), asyncio.Event()
    most = here = 0

    async def come() -> None:
        nonlocal most, here
        async with passwords.turn():
            here += 1
            most = max(most, here)
            entered.set()
            await leave.wait()
            here -= 1

    async with asyncio.TaskGroup() as group:
        group.create_task(come())
        await entered.wait()
        second = group.create_task(come())
        await asyncio.sleep(0)
        with pytest.raises(TooManyLogIns):
            await come()
        assert not second.done()
        leave.set()
    assert most == 1
    async with passwords.turn():
        assert await passwords.verify("x", None) is False


def test_an_unknown_name_takes_as_long_as_a_known_one() -> None:
    """O6: compares the parameters of the computation, not measured times."""
    made = dummy_hash(HASHER)
    real = HASHER.hash(PASSWORD)
    assert made.split("$")[:4] == real.split("$")[:4]
    assert [len(part) for part in made.split("$")] == [len(part) for part in real.split("$")]
    assert not HASHER.check_needs_rehash(made)
