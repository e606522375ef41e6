"""The WebSocket of language servers: who gets one, and what passes through it (E9, O6, W1)."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fastapi import FastAPI
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from deemster.api.app import create_app
from deemster.api.feed import live_output
from deemster.api.http.socket_token import TOKEN_PREFIX
from deemster.api.message_frames import frame
from deemster.api.routes import language_server
from deemster.api.routes.language_server import LANGUAGE_SERVER_PATH, SUBPROTOCOL
from deemster.domain.execution import ExecutionDetails, ExecutionResult, ProgramIo
from deemster.domain.ids import ExecutionId
from deemster.domain.lifecycle import Event
from deemster.domain.run_status import RunStatus
from deemster.pipeline.verdict.attempt import settle_execution
from deemster.store import executions
from deemster.store.lifecycle import advance
from deemster.store.pool import Pool, connection
from tests.api.conftest import Api, MakeDependencies
from tests.builders import start_execution, write_output
from tests.waiting import PATIENCE_S, until

ASK = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
ANSWER = {"jsonrpc": "2.0", "id": 1, "result": {"capabilities": {}}}


@pytest.fixture(autouse=True)
def frequent_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_output, "POLL_S", 0.02)


@pytest.fixture
def app(make_dependencies: MakeDependencies, request: pytest.FixtureRequest) -> FastAPI:
    return create_app(make_dependencies(language_servers=getattr(request, "param", 2)))


@asynccontextmanager
async def open_server(api: Api, language: str = "cpp") -> AsyncIterator[ClientConnection]:
    url = str(api.client.base_url).replace("http", "ws", 1).rstrip("/")
    protocols = [Subprotocol(SUBPROTOCOL), Subprotocol(TOKEN_PREFIX + api.user.token)]
    path = f"{url}{LANGUAGE_SERVER_PATH}?language={language}"
    async with connect(path, subprotocols=protocols) as opened:
        yield opened


async def message(client: ClientConnection) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE_S):
        found: dict[str, Any] = json.loads(await client.recv())
        return found


async def close_code(client: ClientConnection) -> int:
    with pytest.raises(ConnectionClosed) as closed:
        await message(client)
    assert closed.value.rcvd is not None
    return int(closed.value.rcvd.code)


async def servers(pool: Pool) -> Sequence[ExecutionId]:
    async with connection(pool) as acquired:
        rows = await acquired.fetch(
            "SELECT work_id FROM execution WHERE io = 'language_server' ORDER BY work_id"
        )
    return [ExecutionId(row["work_id"]) for row in rows]


async def started(pool: Pool) -> ExecutionDetails:
    """What a worker does first: it starts the newest language server."""
    await until(lambda: servers(pool))
    return await start_execution(pool, (await servers(pool))[-1])


async def inputs(pool: Pool) -> list[bytes]:
    async with connection(pool) as acquired:
        rows = await acquired.fetch("SELECT content FROM execution_input ORDER BY id")
    return [row["content"] for row in rows]


async def test_messages_pass_one_by_one_and_leave_nothing(ada: Api, pool: Pool) -> None:
    """W1: the program of a user is in the messages; it is deleted when the client leaves."""
    async with open_server(ada) as client:
        await client.send(json.dumps(ASK))
        running = await started(pool)
        assert running.io is ProgramIo.LANGUAGE_SERVER
        assert running.language == "cpp"
        assert await until(lambda: inputs(pool)) == [frame(json.dumps(ASK).encode())]
        sent = frame(json.dumps(ANSWER).encode()) + frame(b'{"two": 2}')
        await write_output(pool, running, sent[:30], sent[30:])
        assert await message(client) == ANSWER
        assert await message(client) == {"two": 2}
        page = await ada.get("/v1/executions")
        assert page.json()["items"] == []

    async def is_gone() -> bool:
        return not await servers(pool) and not await inputs(pool)

    await until(is_gone)


async def test_each_user_has_one_language_server_the_newest(ada: Api, pool: Pool) -> None:
    async with open_server(ada) as older:
        first = await started(pool)
        async with open_server(ada, "python3") as newer:
            assert await close_code(older) == language_server.TAKEN_OVER

            async def is_replaced() -> bool:
                found = await servers(pool)
                return len(found) == 1 and found[0] != first.id

            await until(is_replaced)
            running = await started(pool)
            await write_output(pool, running, frame(b"{}"))
            assert await message(newer) == {}


REFUSE_TO_CANCEL = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE 'the database goes down' USING ERRCODE = 'cannot_connect_now'; END $$;
CREATE TRIGGER refuse BEFORE UPDATE ON work FOR EACH ROW
    WHEN (NEW.state = 'CANCELLED' AND NEW.id = '{older}') EXECUTE FUNCTION refuse();
"""


async def test_a_server_whose_start_fails_after_it_was_accepted_is_ended(
    ada: Api, pool: Pool
) -> None:
    """E9: otherwise nobody would end it before its idle limit."""
    async with open_server(ada):
        older = await started(pool)
        async with connection(pool) as acquired:
            await acquired.execute(REFUSE_TO_CANCEL.format(older=older.id))
        async with open_server(ada) as newer:
            assert "the database goes down" in (await message(newer))["params"]["message"]
            assert await close_code(newer) == 1013
        assert await servers(pool) == [older.id]
        async with connection(pool) as acquired:
            await acquired.execute("DROP TRIGGER refuse ON work")


async def test_a_client_is_told_that_no_language_server_is_free(
    ada: Api, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(language_server, "FREE_S", 0.1)
    async with open_server(ada) as client:
        told = await message(client)
        assert told["method"] == "window/showMessage"
        assert told["params"]["message"].startswith("No language server is free")
        assert await close_code(client) == 1013
    assert await servers(pool) == []


@pytest.mark.parametrize("app", [0], indirect=True)
async def test_without_the_setting_there_is_none(ada: Api, pool: Pool) -> None:
    async with open_server(ada) as client:
        assert (await message(client))["params"]["message"] == (
            "This judge runs no language servers."
        )
        assert await close_code(client) == 4404
    assert await servers(pool) == []
    languages = (await ada.get("/v1/languages")).json()["items"]
    assert {each["language_server"] for each in languages} == {None}


async def test_languages_name_the_document_of_their_server(ada: Api) -> None:
    languages = {each["id"]: each for each in (await ada.get("/v1/languages")).json()["items"]}
    assert languages["cpp17"]["language_server"] == {
        "uri": "file:///code/main.cpp",
        "language_id": "cpp",
    }
    assert languages["cobol"]["language_server"] is None


@pytest.mark.parametrize(("language", "code"), [("cobol", 4404), ("klingon", 4400)])
async def test_a_language_without_a_server_is_refused(
    ada: Api, pool: Pool, language: str, code: int
) -> None:
    async with open_server(ada, language) as client:
        await message(client)
        assert await close_code(client) == code
    assert await servers(pool) == []


async def test_x6_a_server_that_writes_no_frames_is_replaced(ada: Api, pool: Pool) -> None:
    async with open_server(ada) as client:
        await write_output(pool, await started(pool), b"Segmentation fault\r\n\r\n")
        assert await close_code(client) == 1012
    assert await servers(pool) == []


async def test_bytes_are_refused(ada: Api, pool: Pool) -> None:
    async with open_server(ada) as client:
        await client.send(b"\0\1")
        assert "as text" in (await message(client))["params"]["message"]
        assert await close_code(client) == 4400


async def test_a_server_of_another_attempt_does_not_know_its_client(
    ada: Api, pool: Pool
) -> None:
    """Q14: the worker was stopped. The client begins again, with a new server."""
    async with open_server(ada) as client:
        running = await started(pool)
        async with connection(pool) as acquired, acquired.transaction():
            await advance(acquired, Event.RESCUE, running.id, running.attempt, reason="a test")
        assert await close_code(client) == 1012


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (RunStatus.WALL_LIMIT, 1000),
        (RunStatus.MEMORY_LIMIT, 1012),
        (RunStatus.SIGNALLED, 1012),
        (RunStatus.INTERNAL_ERROR, 4404),
    ],
)
async def test_the_close_code_says_whether_to_come_back(
    ada: Api, pool: Pool, status: RunStatus, code: int
) -> None:
    async with open_server(ada) as client:
        running = await started(pool)
        await settle_execution(pool, running, ExecutionResult(status), [])
        if code == 4404:
            await message(client)
        assert await close_code(client) == code


async def test_what_a_language_server_got_is_bounded(
    ada: Api, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executions, "TYPED_BYTES", 1000)
    async with open_server(ada) as client:
        for _ in range(20):
            await client.send("x" * 100)
        assert "open a new connection" in (await message(client))["params"]["message"]
        assert await close_code(client) == 1013
