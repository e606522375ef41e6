"""The WebSocket of a terminal, against a running service: type, be cut off, come back (E7)."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from deemster.api.http.socket_token import TOKEN_PREFIX
from deemster.api.routes.terminal import SUBPROTOCOL
from deemster.bench.load.processes import free_address
from deemster.domain.account import Role
from deemster.store import accounts
from deemster.store.pool import connection
from tests.system.conftest import OpenService
from tests.system.service import Service
from tests.waiting import PATIENCE_S, until_ready

PROGRAM = "print('name?', end=' ', flush=True)\nwhile True: print('hi', input())"


async def make_token(service: Service, name: str) -> str:
    async with connection(service.pool) as acquired:
        account = await accounts.add(acquired, name, Role.USER)
        return await accounts.add_token(acquired, account.id, "for tests")


class Client:
    """A terminal in a browser: it knows the last output that it has seen."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url.replace("http", "ws", 1)
        self._token = token
        self.text = b""
        self.last = ""
        self.end: dict[str, Any] | None = None

    @asynccontextmanager
    async def connected(self, execution: str) -> AsyncIterator[ClientConnection]:
        path = f"/v1/executions/{execution}/terminal?after={self.last}"
        protocols = [Subprotocol(SUBPROTOCOL), Subprotocol(TOKEN_PREFIX + self._token)]
        async with connect(self._url + path, subprotocols=protocols) as socket:
            yield socket

    async def until(self, socket: ClientConnection, text: bytes) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while text not in self.text:
                self.see(json.loads(await socket.recv()))

    async def until_end(self, socket: ClientConnection) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while self.end is None:
                self.see(json.loads(await socket.recv()))

    def see(self, message: dict[str, Any]) -> None:
        if message["type"] == "output":
            self.text += base64.b64decode(message["data_base64"])
            self.last = message["id"]
        elif message["type"] == "end":
            self.end = message


async def test_e7_who_comes_back_to_a_terminal_misses_nothing(
    open_service: OpenService,
) -> None:
    address = free_address()
    async with open_service(host=address.host, port=address.port) as service:
        token = await make_token(service, "ada")
        service.start("api", "relay", "worker")
        await until_ready(address.url)
        async with httpx.AsyncClient(
            base_url=address.url, headers={"Authorization": f"Bearer {token}"}
        ) as http:
            answer = await http.post(
                "/v1/executions",
                json={"language": "python3", "source_code": PROGRAM, "io": "terminal"},
            )
            execution = answer.json()["execution_id"]
            client = Client(address.url, token)
            async with client.connected(execution) as socket:
                await client.until(socket, b"name? ")
                await socket.send(json.dumps({"data": "ada\n"}))
                await client.until(socket, b"hi ada\r\n")
                await socket.send(json.dumps({"rows": 0}))
                problem = json.loads(await socket.recv())
                assert problem["type"] == "error"
            # While nobody looks, the program goes on.
            typed = await http.post(f"/v1/executions/{execution}/input", json={"data": "bob\n"})
            assert typed.status_code == 204
            async with client.connected(execution) as socket:
                await client.until(socket, b"hi bob\r\n")
                await socket.send(b"eve\n")
                await client.until(socket, b"hi eve\r\n")
                await socket.send(json.dumps({"signal": "SIGINT"}))
                await client.until_end(socket)
            shown = (await http.get(f"/v1/executions/{execution}")).json()
            assert shown["stdout"].encode() == client.text
            recording = (await http.get(f"/v1/executions/{execution}/recording")).text
            head, *lines = map(json.loads, recording.splitlines())
            assert (head["version"], head["width"], head["height"]) == (2, 80, 24)
            assert "".join(line[2] for line in lines).encode() == client.text
            stranger = Client(address.url, await make_token(service, "eve"))
            for unwelcome, code in ((stranger, 4404), (Client(address.url, "wrong"), 4401)):
                async with unwelcome.connected(execution) as socket:
                    assert json.loads(await socket.recv())["type"] == "error"
                    with pytest.raises(ConnectionClosed) as closed:
                        await socket.recv()
                    assert closed.value.rcvd is not None
                    assert closed.value.rcvd.code == code
