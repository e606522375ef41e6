"""Live output and terminals on a real socket: who may use them, and for how long (E5, E7)."""

import asyncio
import json
import socket

import pytest
from fastapi import FastAPI

from deemster.api import live_socket
from deemster.api.app import create_app
from deemster.api.auth import credential_cache
from deemster.api.feed import live_output
from deemster.api.models.live_input import INPUT_BYTES
from deemster.api.routes import live
from deemster.domain.account import Scope
from deemster.store import accounts
from deemster.store.pool import Pool, connection
from tests.api.browser import log_in, make_person
from tests.api.conftest import Api, MakeDependencies
from tests.api.feed.event_client import open_stream
from tests.api.feed.terminal_client import open_terminal
from tests.builders import end_execution, make_execution, start_execution, write_output
from tests.waiting import until

OPENED = 20


@pytest.fixture(autouse=True)
def frequent_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_output, "CHECK_S", 0.02)
    monkeypatch.setattr(live_output, "POLL_S", 0.02)
    monkeypatch.setattr(credential_cache, "KEPT_S", 0.0)


@pytest.fixture
def app(make_dependencies: MakeDependencies, request: pytest.FixtureRequest) -> FastAPI:
    return create_app(make_dependencies(**getattr(request, "param", {})))


async def inputs(pool: Pool) -> list[bytes]:
    async with connection(pool) as acquired:
        rows = await acquired.fetch("SELECT content FROM execution_input ORDER BY id")
    return [row["content"] for row in rows]


async def revoke_all(pool: Pool) -> None:
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE token SET revoked_at = now()")


async def test_o6_a_revoked_token_ends_live_output(ada: Api, pool: Pool) -> None:
    execution = await make_execution(pool, ada.user.id)
    async with open_stream(ada, f"/v1/executions/{execution}/events") as stream:
        assert (await stream.event()).content["status"] == "QUEUED"
        await revoke_all(pool)
        assert await stream.rest() == []


async def test_o6_a_revoked_token_closes_a_terminal(ada: Api, pool: Pool) -> None:
    execution = await make_execution(pool, ada.user.id)
    async with open_terminal(ada, execution) as client:
        await client.message("status")
        await revoke_all(pool)
        assert (await client.message("error"))["code"] == "unauthorised"
        assert await client.close_code() == 4401


async def test_o6_a_revoked_token_cannot_type(
    ada: Api, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is checked with each message, not only from time to time."""
    monkeypatch.setattr(live_output, "CHECK_S", 3600.0)
    execution = await make_execution(pool, ada.user.id)
    async with open_terminal(ada, execution) as client:
        await client.message("status")
        await revoke_all(pool)
        await client.send(data="late")
        assert await client.close_code() == 4401
    assert await inputs(pool) == []


async def test_a_process_that_ends_closes_live_streams_and_terminals(
    ada: Api, pool: Pool, app: FastAPI
) -> None:
    execution = await make_execution(pool, ada.user.id)
    path = f"/v1/executions/{execution}/events"
    async with open_stream(ada, path) as stream, open_terminal(ada, execution) as client:
        await stream.event()
        await client.message("status")
        app.state.app_state.drain()
        assert await stream.rest() == []
        assert await client.close_code() == 1012


async def test_a_cookie_opens_no_terminal(ada: Api, pool: Pool) -> None:
    """Any web page can open a WebSocket to this server, and browsers send cookies with it."""
    person = await make_person(pool, "eve")
    answer = await log_in(ada.client, "eve")
    assert answer.status_code == 201
    execution = await make_execution(pool, person)
    cookie = "; ".join(f"{name}={value}" for name, value in answer.cookies.items())
    assert cookie
    async with open_terminal(ada, execution, token="", Cookie=cookie) as client:
        assert await client.close_code() == 4401


async def test_o6_a_page_opens_a_terminal_with_the_csrf_token_of_its_log_in(
    ada: Api, pool: Pool
) -> None:
    person = await make_person(pool, "eve")
    answer = await log_in(ada.client, "eve")
    execution = await make_execution(pool, person)
    cookie = "; ".join(f"{name}={value}" for name, value in answer.cookies.items())
    csrf = answer.json()["csrf_token"]
    async with open_terminal(ada, execution, token="", csrf=csrf, Cookie=cookie) as client:
        assert (await client.message("status"))["status"] == "QUEUED"
    elsewhere = {"Cookie": cookie, "Origin": "https://evil.example"}
    async with open_terminal(ada, execution, token="", csrf=csrf, **elsewhere) as client:
        assert await client.close_code() == 4403
    async with open_terminal(ada, execution, token="", csrf="guess", Cookie=cookie) as client:
        assert await client.close_code() == 4403


async def test_o6_a_terminal_needs_the_scope_submit(ada: Api, pool: Pool) -> None:
    async with connection(pool) as acquired:
        reader = await accounts.add_token(
            acquired, ada.user.id, "reader", scopes=frozenset({Scope.READ})
        )
    execution = await make_execution(pool, ada.user.id)
    async with open_terminal(ada, execution, token=reader) as client:
        assert await client.close_code() == 4403


async def test_i1_typed_input_is_confirmed_and_typed_once(ada: Api, pool: Pool) -> None:
    execution = await make_execution(pool, ada.user.id)
    for _ in range(2):  # the first connection was lost before the client saw the confirmation
        async with open_terminal(ada, execution) as client:
            await client.send(data="a", key="1")
            assert (await client.message("typed"))["key"] == "1"
    assert await inputs(pool) == [b"a"]


async def test_d3_too_much_at_once_is_refused_and_the_terminal_stays_open(
    ada: Api, pool: Pool
) -> None:
    execution = await make_execution(pool, ada.user.id)
    async with open_terminal(ada, execution) as client:
        await client.socket.send(b"x" * (INPUT_BYTES + 1))
        await client.message("error")
        await client.send(data="\N{SNOWMAN}" * (INPUT_BYTES // 2))
        await client.message("error")
        await client.send(data="fine", key="1")
        await client.message("typed")
    assert await inputs(pool) == [b"fine"]


@pytest.mark.parametrize("app", [{"streams_per_user": 2}], indirect=True)
async def test_d2_streams_that_are_opened_at_the_same_time_are_limited(
    ada: Api, pool: Pool
) -> None:
    execution = await make_execution(pool, ada.user.id)
    statuses: list[int] = []
    all_opened = asyncio.Event()

    async def open_one() -> None:
        path, headers = f"/v1/executions/{execution}/events", ada.user.headers
        async with ada.client.stream("GET", path, headers=headers) as answer:
            statuses.append(answer.status_code)
            if len(statuses) == OPENED:
                all_opened.set()
            await all_opened.wait()

    async with asyncio.TaskGroup() as group:
        for _ in range(OPENED):
            group.create_task(open_one())
    assert sorted(statuses) == [200] * 2 + [429] * (OPENED - 2)


@pytest.mark.parametrize("app", [{"requests_per_second_user": 5}], indirect=True)
async def test_d2_a_client_that_types_too_fast_waits(ada: Api, pool: Pool) -> None:
    """Nothing is lost."""
    execution = await make_execution(pool, ada.user.id)
    async with open_terminal(ada, execution) as client:
        for number in range(8):
            await client.send(data=str(number), key=str(number))
        for number in range(8):
            assert (await client.message("typed"))["key"] == str(number)
    assert await inputs(pool) == [str(number).encode() for number in range(8)]


async def test_what_is_typed_after_the_end_is_no_error(ada: Api, pool: Pool) -> None:
    execution = await make_execution(pool, ada.user.id)
    running = await start_execution(pool, execution)
    async with open_terminal(ada, execution) as client:
        await client.message("status")
        await end_execution(pool, running)
        await client.send(data="late")
        found = json.loads(await client.socket.recv())
        while found["type"] == "status":
            found = json.loads(await client.socket.recv())
        assert found["type"] == "end"
        assert await client.close_code() == 1000


async def test_a_new_attempt_is_told_though_it_writes_nothing(ada: Api, pool: Pool) -> None:
    execution = await make_execution(pool, ada.user.id)
    await start_execution(pool, execution)
    async with open_terminal(ada, execution) as client:
        assert (await client.message("status"))["attempt"] == 1
        async with connection(pool) as acquired:
            await acquired.execute("UPDATE work SET attempt = 2")
        assert (await client.message("status"))["attempt"] == 2


async def test_h1_a_client_that_has_seen_the_end_is_told_not_to_come_back(
    ada: Api, pool: Pool
) -> None:
    """A browser would come back for ever."""
    execution = await make_execution(pool, ada.user.id)
    await end_execution(pool, await start_execution(pool, execution))
    path = f"/v1/executions/{execution}/events"
    async with open_stream(ada, path) as stream:
        end = (await stream.rest())[-1]
    assert (end.event, end.content["status"]) == ("end", "COMPLETED")
    assert end.id is not None
    answer = await ada.client.get(path, headers={**ada.user.headers, "Last-Event-ID": end.id})
    assert answer.status_code == 204


@pytest.mark.parametrize("kind", ["events", "terminal"])
async def test_a_client_that_does_not_read_is_cut_off(
    ada: Api, pool: Pool, app: FastAPI, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    for module in (live, live_socket):
        monkeypatch.setattr(module, "SEND_TIMEOUT_S", 0.2)
    execution = await make_execution(pool, ada.user.id)
    running = await start_execution(pool, execution)
    await write_output(pool, running, *[b"x" * (1 << 20)] * 32)
    streams = app.state.app_state.feed.streams
    upgrade = (
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        if kind == "terminal"
        else ""
    )
    with socket.create_connection((ada.client.base_url.host, ada.client.base_url.port)) as raw:
        raw.sendall(
            f"GET /v1/executions/{execution}/{kind} HTTP/1.1\r\nHost: judge\r\n{upgrade}"
            f"Authorization: Bearer {ada.user.token}\r\n\r\n".encode()
        )
        await until(lambda: streams[ada.user.id] == 1)
        await until(lambda: not streams[ada.user.id])
