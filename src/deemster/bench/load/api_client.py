"""One user of the API, who sends one request after another over one connection."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self

from deemster.bench.load.connection import HttpConnection
from deemster.domain.errors import Unavailable
from deemster.wiring.address import Address


class ApiClient:
    def __init__(self, http: HttpConnection, address: Address, token: str) -> None:
        self._http = http
        self._address = address
        self._head = f"Host: bench\r\nAuthorization: Bearer {token}\r\n"

    @classmethod
    @asynccontextmanager
    async def open(cls, address: Address, token: str) -> AsyncIterator[Self]:
        http = await HttpConnection.connect(address.local_host, address.port)
        try:
            yield cls(http, address, token)
        finally:
            http.close()

    async def send(self, method: str, path: str, body: Mapping[str, object]) -> Any:
        """Returns the response's JSON."""
        return json.loads(await self.request(method, path, json.dumps(body)))

    async def get(self, path: str) -> Any:
        return json.loads(await self.request("GET", path))

    async def request(self, method: str, path: str, body: str = "") -> bytes:
        """Returns the response's body; raises Unavailable if the API refuses the request."""
        head = f"{method} {path} HTTP/1.1\r\n{self._head}"
        if body:
            length = len(body.encode())
            head += f"Content-Type: application/json\r\nContent-Length: {length}\r\n"
        status, answer = await self._http.request(f"{head}\r\n{body}".encode())
        if status >= 300:
            raise Unavailable(f"{method} {path} was answered with {status}: {answer[:500]!r}")
        return answer

    @asynccontextmanager
    async def stream(self, path: str) -> AsyncIterator[asyncio.StreamReader]:
        """Opens a stream of events over a connection of its own."""
        host, port = self._address.local_host, self._address.port
        reader, writer = await asyncio.open_connection(host, port)
        try:
            writer.write(f"GET {path} HTTP/1.1\r\n{self._head}\r\n".encode())
            first = await reader.readline()
            if not first.startswith(b"HTTP/1.1 200"):
                raise Unavailable(f"GET {path} was answered with {first.decode()!r}")
            yield reader
        finally:
            writer.close()
