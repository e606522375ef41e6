"""O6, D2: who guesses is slowed down, and learns nothing by guessing on."""

import asyncio

import httpx
import pytest
from fastapi import FastAPI

from deemster.api.auth import throttle
from deemster.api.auth.passwords import HASHER, Passwords, TooManyLogIns, hash_of_nobody
from deemster.api.auth.throttle import GUESSES
from deemster.store.pool import Pool
from tests.api.auth.people import PASSWORD, enter, make_person, serving
from tests.api.conftest import Api, MakeDependencies


def client_from(app: FastAPI, address: str) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=app, client=(address, 1))
    return httpx.AsyncClient(transport=transport, base_url="http://judge")


async def test_a_name_is_guessed_at_so_often_from_wherever(
    app: FastAPI, client: object, pool: Pool
) -> None:
    """And the right password is not told from a wrong one then."""
    await make_person(pool)
    await make_person(pool, "grace")
    for number in range(GUESSES):
        async with client_from(app, f"192.0.2.{number}") as guesser:
            assert (await enter(guesser, password="wrong words here")).status_code == 401
    async with client_from(app, "198.51.100.1") as guesser:
        for password in ("wrong words here", PASSWORD):
            answer = await enter(guesser, password=password)
            assert answer.status_code == 429
            assert 1 <= int(answer.headers["retry-after"]) <= 30
            assert "set-cookie" not in answer.headers
        assert (await enter(guesser, "grace")).status_code == 201


async def test_an_address_is_wrong_so_often_whoever_it_names(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    await make_person(pool)
    async with serving(make_dependencies(strangers_per_minute_ip=2)) as client:
        for name in ("one", "two"):
            assert (await enter(client, name)).status_code == 401
        assert (await enter(client, "three")).status_code == 429
        assert (await enter(client)).status_code == 429


async def test_those_who_are_right_are_never_counted(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    await make_person(pool)
    async with serving(make_dependencies(strangers_per_minute_ip=1)) as client:
        for _ in range(4):
            assert (await enter(client)).status_code == 201


async def test_who_is_right_again_and_again_does_not_keep_others_out(
    client: httpx.AsyncClient, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each log-in takes a core for a while: one person gets so many, whatever they know."""
    monkeypatch.setattr(throttle, "LOG_INS", 3)
    monkeypatch.setattr(throttle, "LOG_IN_EVERY_S", 3600)
    await make_person(pool)
    await make_person(pool, "bob")
    answers = [await enter(client) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [201, 201, 201]
    refused = await enter(client)
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) > 60
    change = {"current_password": PASSWORD, "password": "four rather plain words"}
    headers = {"X-CSRF-Token": answers[-1].json()["csrf_token"]}
    answer = await client.put("/v1/account/password", json=change, headers=headers)
    assert answer.status_code == 429
    assert (await enter(client, "bob")).status_code == 201


async def test_unknown_tokens_are_counted_and_known_ones_are_not_held_up(
    make_dependencies: MakeDependencies, pool: Pool, ada: Api
) -> None:
    async with serving(make_dependencies(strangers_per_minute_ip=3)) as client:
        for number in range(3):
            headers = {"Authorization": f"Bearer deem_{number}"}
            assert (await client.get("/v1/problems", headers=headers)).status_code == 401
        answer = await client.get("/v1/problems", headers={"Authorization": "Bearer deem_9"})
        assert answer.status_code == 429
        assert "retry-after" in answer.headers
        good = await client.get("/v1/problems", headers=ada.user.headers)
        assert good.status_code == 200
        assert (await client.get("/v1/problems")).status_code == 401, "nothing was shown"


async def test_a_page_left_open_locks_nobody_out(
    make_dependencies: MakeDependencies, pool: Pool
) -> None:
    """Its log-in is over, and it asks on and on; from that address others log in still."""
    await make_person(pool)
    async with serving(make_dependencies(strangers_per_minute_ip=2)) as client:
        over = {"Cookie": "deemster_session=over"}
        answers = [await client.get("/v1/session", headers=over) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [401, 401, 429]
        assert (await enter(client)).status_code == 201


async def test_a_flood_of_log_ins_waits_in_a_short_line() -> None:
    """No more hash at once than may; who comes when the line is full is sent away."""
    passwords = Passwords(at_once=1, most_waiting=1)
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
        assert await passwords.fits("x", None) is False


def test_a_name_that_nobody_has_takes_as_long() -> None:
    """O6: by what is computed, not by a watch: the same cost is asked for."""
    made = hash_of_nobody(HASHER)
    real = HASHER.hash(PASSWORD)
    assert made.split("$")[:4] == real.split("$")[:4]
    assert [len(part) for part in made.split("$")] == [len(part) for part in real.split("$")]
    assert not HASHER.check_needs_rehash(made)
