"""A client of Piston's WebSocket, which keeps every message and the close code."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.system.compat_service import CompatService
from tests.waiting import PATIENCE_S

PATHS = [f"/api/v2{prefix}/connect{slash}" for prefix in ("", "/piston") for slash in ("", "/")]


def init(language: str, source: str, **fields: object) -> dict[str, Any]:
    files = [{"content": source}]
    return {"type": "init", "language": language, "version": "*", "files": files, **fields}


def typed(text: object, stream: str = "stdin") -> dict[str, Any]:
    return {"type": "data", "stream": stream, "data": text}


class PistonSocket:
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
