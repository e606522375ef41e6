"""A small HTTP server for stubs, which can also break connections."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    status: int = 200
    body: Any = None
    content: bytes | None = None
    """Replaces the body, as it is."""


class Dropped(Exception):
    """The connection is closed without an answer."""


Handler = Callable[[Request], Answer]


async def serve(
    handler: Handler, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    try:
        with suppress(asyncio.IncompleteReadError, ConnectionError, Dropped):
            while True:
                writer.write(message(handler(await read_request(reader))))
                await writer.drain()
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


def message(answer: Answer) -> bytes:
    content = answer.content
    if content is None:
        content = json.dumps(answer.body).encode()
    head = (
        f"HTTP/1.1 {answer.status} -\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


async def read_request(reader: asyncio.StreamReader) -> Request:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    method, path, _ = first.split(" ")
    headers = dict(line.split(": ", 1) for line in lines if line)
    lowered = {name.lower(): value for name, value in headers.items()}
    body = await reader.readexactly(int(lowered.get("content-length", 0)))
    return Request(method, path, lowered, body)


@asynccontextmanager
async def serving(handler: Handler, port: int = 0) -> AsyncIterator[str]:
    """Yields the URL of the server."""
    connections: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.add(task)
        await serve(handler, reader, writer)
        connections.discard(task)

    server = await asyncio.start_server(accept, "127.0.0.1", port, limit=1 << 26)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
