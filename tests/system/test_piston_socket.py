"""F2: Piston's WebSocket against a running service: every message, and every close code."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from deemster.api.http.socket_token import TOKEN_PREFIX
from tests.system.compat_service import CompatService, serving
from tests.system.conftest import OpenService
from tests.waiting import PATIENCE_S, until

ASK = "name = input('name? ')\nprint('hi', name, end='')\nimport sys\nsys.exit(len(name))"
GREET = r"""
#include <stdio.h>
int main(void) { char name[9]; puts("name?"); fflush(stdout); scanf("%8s", name); puts(name); }
"""
PATHS = [f"/api/v2{prefix}/connect{slash}" for prefix in ("", "/piston") for slash in ("", "/")]


def init(language: str, source: str, **fields: object) -> dict[str, Any]:
    files = [{"content": source}]
    return {"type": "init", "language": language, "version": "*", "files": files, **fields}


def typed(text: object, stream: str = "stdin") -> dict[str, Any]:
    return {"type": "data", "stream": stream, "data": text}


class Client:
    def __init__(self, served: CompatService) -> None:
        self._served = served

    def open(self, path: str = PATHS[0], token: str | None = None) -> connect:
        headers = {"Authorization": token or self._served.token}
        url = self._served.url.replace("http", "ws", 1) + path
        return connect(url, additional_headers=headers)

    async def talk(
        self,
        *messages: dict[str, Any] | str | bytes,
        path: str = PATHS[0],
        token: str | None = None,
    ) -> tuple[list[dict[str, Any]], int, str]:
        """Sends the messages; returns what came, and why the connection was closed."""
        async with self.open(path, token) as socket:
            with suppress(ConnectionClosed):  # by the first message, or before it
                for message in messages:
                    await socket.send(dumps(message) if isinstance(message, dict) else message)
            return await until_closed(socket)


def dumps(message: object) -> str:
    return json.dumps(message)


async def until_closed(socket: ClientConnection) -> tuple[list[dict[str, Any]], int, str]:
    found: list[dict[str, Any]] = []
    async with asyncio.timeout(PATIENCE_S):
        with suppress(ConnectionClosed):
            while True:
                found.append(json.loads(await socket.recv()))
    assert socket.close_code is not None
    return found, socket.close_code, socket.close_reason or ""


async def until_text(socket: ClientConnection, text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    async with asyncio.timeout(PATIENCE_S):
        while text not in text_of(found):
            found.append(json.loads(await socket.recv()))
    return found


def text_of(messages: Sequence[dict[str, Any]], stream: str = "stdout") -> str:
    return "".join(
        each["data"] for each in messages if each["type"] == "data" and each["stream"] == stream
    )


def without_data(messages: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    fields = ("type", "stage", "code", "signal")
    others = [each for each in messages if each["type"] != "data"]
    return [tuple(each.get(name) for name in fields) for each in others]


async def test_programs_talk_over_piston_s_websocket(open_service: OpenService) -> None:
    async with serving(open_service, "piston", executions_per_minute_user=10_000) as served:
        client = Client(served)
        await a_prompt_is_answered(client)
        await compiling_is_a_stage(client)
        await programs_end_in_every_way(client)
        await wrong_messages_close_the_connection(client)
        await errors_are_told(client)
        await a_browser_sends_its_token_as_a_subprotocol(client, served)
        await a_program_ends_when_its_client_leaves(client, served)
        await a_program_ends_with_its_token(client, served)


async def a_prompt_is_answered(client: Client) -> None:
    """On all paths; what was sent with the program comes first."""
    for path in PATHS:
        async with client.open(path) as socket:
            await socket.send(dumps(init("python", ASK)))
            found = await until_text(socket, "name? ")
            assert found[0]["type"] == "runtime"
            assert found[0]["language"] == "python"
            assert found[0]["version"].startswith("3.")
            assert found[1] == {"type": "stage", "stage": "run"}
            await socket.send(dumps(typed("Ada\n")))
            found, code, reason = await until_closed(socket)
        assert text_of(found) == "hi Ada"
        assert found[-1] == {"type": "exit", "stage": "run", "code": 3, "signal": None}
        assert (code, reason) == (4999, "Job Completed")
    found, code, _ = await client.talk(init("python", ASK, stdin="Bob"))
    assert (text_of(found), code) == ("name? hi Bob", 4999)


async def compiling_is_a_stage(client: Client) -> None:
    """It is told while the program waits for its input."""
    async with client.open() as socket:
        await socket.send(dumps(init("c", GREET)))
        found = await until_text(socket, "name?\n")
        await socket.send(dumps(typed("Ada\n")))
        more, code, _ = await until_closed(socket)
    assert without_data([*found, *more]) == [
        ("runtime", None, None, None),
        ("stage", "compile", None, None),
        ("exit", "compile", 0, None),
        ("stage", "run", None, None),
        ("exit", "run", 0, None),
    ]
    assert (text_of(more), code) == ("Ada\n", 4999)
    found, code, _ = await client.talk(init("c", "int main() { return x; }"))
    assert "error" in text_of(found, "stderr")
    assert without_data(found)[1:] == [
        ("stage", "compile", None, None),
        ("exit", "compile", 1, None),
    ]
    assert code == 4999


async def programs_end_in_every_way(client: Client) -> None:
    endless = "print('go', flush=True)\nwhile True: pass"
    for message, code, signal in (
        (init("python", "print("), 1, None),
        (init("python", "import sys; sys.exit(5)"), 5, None),
        (init("python", endless, run_cpu_time=300), None, "SIGKILL"),
        (init("python", "import time; time.sleep(60)", run_timeout=300), None, "SIGKILL"),
    ):
        found, closed, _ = await client.talk(message)
        assert found[-1] == {"type": "exit", "stage": "run", "code": code, "signal": signal}
        assert closed == 4999
    for signal in ("SIGTERM", "SIGKILL"):
        async with client.open() as socket:
            waiting = "print('go', flush=True)\nimport time\ntime.sleep(60)"
            await socket.send(dumps(init("python", waiting)))
            await until_text(socket, "go")
            await socket.send(dumps({"type": "signal", "signal": signal}))
            found, closed, _ = await until_closed(socket)
        assert found[-1] == {"type": "exit", "stage": "run", "code": None, "signal": signal}
        assert closed == 4999


async def wrong_messages_close_the_connection(client: Client) -> None:
    program = init("python", "input()")
    for messages, code, reason in (
        ([program, program], 4000, "Already Initialized"),
        ([], 4001, "Initialization Timeout"),
        ([{"type": "ping"}, {"type": [1]}, {}], 4001, "Initialization Timeout"),
        ([typed("x")], 4003, "Not yet initialized"),
        ([{"type": "signal", "signal": "SIGINT"}], 4003, "Not yet initialized"),
        ([program, typed("x", "stdout")], 4004, "Can only write to stdin"),
        ([program, {"type": "signal", "signal": "SIGNONE"}], 4005, "Invalid signal"),
        ([program, {"type": "signal", "signal": [9]}], 4005, "Invalid signal"),
    ):
        found, closed, said = await client.talk(*messages)
        assert (closed, said) == (code, reason), messages
        assert not [each for each in found if each["type"] == "error"]


async def errors_are_told(client: Client) -> None:
    program = init("python", "input()")
    for messages, text in (
        (["{"], "not valid JSON"),
        ([b"\xff"], "not valid JSON"),
        (["[]"], "not a JSON object"),
        (['{"type": "\\ud800"}'], "not valid JSON"),
        ([{"type": "init"}], "language is required as a string"),
        ([init("klingon", "x")], "klingon-* runtime is unknown"),
        ([init("python", "x", run_timeout=10**9)], "run_timeout cannot exceed"),
        ([init("python", "")], "The source is empty"),
        ([program, typed(5)], "data must be a string"),
        ([program, "nothing"], "not valid JSON"),
    ):
        found, closed, said = await client.talk(*messages)
        assert (closed, said) == (4002, "Notified Error"), messages
        assert found[-1]["type"] == "error"
        assert text in found[-1]["message"]
    found, closed, _ = await client.talk(program, token="nobody")
    assert (closed, [each["type"] for each in found]) == (4002, ["error"])


async def a_browser_sends_its_token_as_a_subprotocol(
    client: Client, served: CompatService
) -> None:
    protocols = [Subprotocol("piston"), Subprotocol(TOKEN_PREFIX + served.token)]
    url = served.url.replace("http", "ws", 1) + PATHS[0]
    async with connect(url, subprotocols=protocols) as socket:
        assert socket.subprotocol == "piston"
        await socket.send(dumps(init("python", "print(1)")))
        found, code, _ = await until_closed(socket)
    assert (text_of(found), code) == ("1\n", 4999)


async def a_program_ends_when_its_client_leaves(client: Client, served: CompatService) -> None:
    async with client.open() as socket:
        await socket.send(dumps(init("python", "print('go', flush=True)\ninput()")))
        await until_text(socket, "go")
    headers = {"Authorization": f"Bearer {served.token}"}
    async with httpx.AsyncClient(base_url=served.url, headers=headers) as http:

        async def have_ended() -> bool:
            listed = (await http.get("/v1/executions?limit=100")).json()["items"]
            assert listed[0]["status"] in {"RUNNING", "CANCELLED"}
            return all(each["status"] not in {"QUEUED", "RUNNING"} for each in listed)

        await until(have_ended)


async def a_program_ends_with_its_token(client: Client, served: CompatService) -> None:
    """O6"""
    headers = {"Authorization": f"Bearer {served.token}"}
    async with (
        httpx.AsyncClient(base_url=served.url, headers=headers) as http,
        client.open() as socket,
    ):
        await socket.send(dumps(init("python", "print('go', flush=True)\ninput()")))
        await until_text(socket, "go")
        (token,) = (await http.get("/v1/tokens")).json()["items"]
        assert (await http.delete(f"/v1/tokens/{token['id']}")).is_success
        await socket.send(dumps(typed("x\n")))
        found, closed, _ = await until_closed(socket)
    assert (closed, found[-1]["type"]) == (4002, "error")
    assert "revoked" in found[-1]["message"]
