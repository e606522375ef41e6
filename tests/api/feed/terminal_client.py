"""A client of the WebSocket of a terminal."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from deemster.api.http.socket_token import CSRF_PREFIX, TOKEN_PREFIX
from deemster.api.routes.terminal import SUBPROTOCOL
from deemster.domain.ids import ExecutionId
from tests.api.conftest import Api
from tests.waiting import PATIENCE_S


class TerminalClient:
    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def send(self, **message: Any) -> None:
        await self.socket.send(json.dumps(message))

    async def message(self, kind: str) -> dict[str, Any]:
        """The next message of this kind."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                found: dict[str, Any] = json.loads(await self.socket.recv())
                if found["type"] == kind:
                    return found

    async def close_code(self) -> int:
        with pytest.raises(ConnectionClosed) as closed:
            await self.message("none")
        assert closed.value.rcvd is not None
        return int(closed.value.rcvd.code)


@asynccontextmanager
async def open_terminal(
    api: Api,
    execution: ExecutionId,
    *,
    token: str | None = None,
    csrf: str | None = None,
    **headers: str,
) -> AsyncIterator[TerminalClient]:
    url = str(api.client.base_url).replace("http", "ws", 1).rstrip("/")
    protocols = [Subprotocol(SUBPROTOCOL)]
    if token != "":
        protocols.append(Subprotocol(TOKEN_PREFIX + (token or api.user.token)))
    if csrf is not None:
        protocols.append(Subprotocol(CSRF_PREFIX + csrf))
    path = f"/v1/executions/{execution}/terminal"
    async with connect(
        url + path, subprotocols=protocols, additional_headers=headers
    ) as opened:
        yield TerminalClient(opened)
