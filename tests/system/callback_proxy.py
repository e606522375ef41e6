"""A proxy between a judge host and the server, which does to results what bad networks do."""

import asyncio
import socket
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import httpx
import uvicorn

from deemster.wiring.http_server import Server
from tests.waiting import until

Message = MutableMapping[str, Any]
UNREACHABLE = 502


class Trouble(StrEnum):
    """What happens to a result."""

    DELAY = "delay"
    """It waits until the host has sent other requests."""
    DUPLICATE = "duplicate"
    """It arrives twice."""
    REORDER = "reorder"
    """The next result of the host overtakes it."""


@dataclass(frozen=True, slots=True)
class Passed:
    """A request of the host."""

    method: str
    target: str
    headers: list[tuple[bytes, bytes]]
    body: bytes

    @property
    def is_result(self) -> bool:
        return self.target.endswith("/finish")


@dataclass(slots=True)
class CallbackProxy:
    http: httpx.AsyncClient
    url: str
    troubles: list[Trouble] = field(default_factory=list)
    """Those of the next results, in order."""
    results: list[Passed] = field(default_factory=list)
    """All that the server has answered."""
    refused: Counter[str] = field(default_factory=Counter)
    """Refusals of the server, by their codes."""
    _passed: int = 0

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        query = scope["query_string"].decode()
        target = scope["path"] + (f"?{query}" if query else "")
        request = Passed(scope["method"], target, scope["headers"], body)
        trouble = self.troubles.pop(0) if request.is_result and self.troubles else None
        try:
            answer = await self._pass(request, trouble)
        except httpx.TransportError:
            await send({"type": "http.response.start", "status": UNREACHABLE, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        start = {"status": answer.status_code, "headers": answer.headers.raw}
        await send({"type": "http.response.start", **start})
        await send({"type": "http.response.body", "body": answer.content})

    async def _pass(self, request: Passed, trouble: Trouble | None) -> httpx.Response:
        passed, results = self._passed, len(self.results)
        if trouble is Trouble.DELAY:
            await until(lambda: self._passed > passed + 1)
        if trouble is Trouble.REORDER:
            await until(lambda: len(self.results) > results)
        answer = await self.send(request)
        if trouble is Trouble.DUPLICATE:
            await self.send(request)
        if request.is_result:
            self.results.append(request)
        self._passed += 1
        return answer

    async def send(self, request: Passed) -> httpx.Response:
        """Sends it to the server, as it is."""
        answer = await self.http.request(
            request.method, request.target, headers=request.headers, content=request.body
        )
        if answer.is_client_error:
            self.refused[answer.json()["code"]] += 1
        return answer


@asynccontextmanager
async def proxy_to(server_url: str, address: str) -> AsyncIterator[CallbackProxy]:
    """The proxy listens on this address of the machine."""
    with socket.create_server((address, 0)) as bound:
        url = f"http://{address}:{bound.getsockname()[1]}"
        async with (
            httpx.AsyncClient(
                base_url=server_url, timeout=60, trust_env=False, verify=False
            ) as http,
            asyncio.TaskGroup() as group,
        ):
            proxy = CallbackProxy(http, url)
            config = uvicorn.Config(
                proxy, lifespan="off", ws="none", log_config=None, access_log=False
            )
            server = Server(config)
            serving = group.create_task(server.serve(sockets=[bound]))
            try:
                yield proxy
            finally:
                server.should_exit = server.force_exit = True
                await asyncio.wait([serving])
