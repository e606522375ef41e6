"""A client of a terminal's WebSocket, which can be cut off and come back (E7)."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from deemster.api.http.socket_token import TOKEN_PREFIX
from deemster.api.routes.terminal import SUBPROTOCOL
from deemster.domain.account import Role
from deemster.store import accounts
from deemster.store.pool import connection
from tests.system.service import Service
from tests.waiting import PATIENCE_S


async def make_token(service: Service, name: str) -> str:
    async with connection(service.pool) as acquired:
        account = await accounts.add(acquired, name, Role.USER)
        return await accounts.add_token(acquired, account.id, "for tests")


class TerminalClient:
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
