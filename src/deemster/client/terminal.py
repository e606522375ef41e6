"""The terminal of a running program: types into it, and opens a lost connection again (E7)."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any, Self

import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.protocol import State

from deemster.client.calls.executions import SignalName
from deemster.client.errors import ConflictError, error_of_code
from deemster.client.exchange import Exchange, path_of
from deemster.client.models.executions import ExecutionSummary
from deemster.client.models.live import LiveEvent, LiveEventParser
from deemster.client.models.parsing import parse_json
from deemster.client.steps import HttpAnswer, HttpOutcome, Request


class Terminal:
    """Iterate over it to get the output; the last item is the execution as it ended."""

    def __init__(
        self,
        exchange: Exchange,
        execution_id: str,
        after: str,
        on_lost: Callable[[], object] | None,
    ) -> None:
        self._exchange = exchange
        self._execution_id = execution_id
        self._parser = LiveEventParser(after)
        self._on_lost = on_lost
        self._connecting = asyncio.Lock()
        self._socket: ClientConnection | None = None
        self._has_ended = False

    async def type_input(self, text: str | bytes) -> None:
        """Types as a keyboard does: Enter is `\\r`, Ctrl-C is `\\x03`.

        What is typed while the connection is lost is sent when it is open again.
        """
        await self._send(text.encode() if isinstance(text, str) else text)

    async def end_input(self) -> None:
        """Ends the input of the program, as Ctrl-D does on an empty line."""
        await self._send(json.dumps({"end": True}))

    async def send_signal(self, signal: SignalName) -> None:
        await self._send(json.dumps({"signal": signal}))

    async def resize(self, rows: int, columns: int) -> None:
        await self._send(json.dumps({"rows": rows, "columns": columns}))

    async def __aenter__(self) -> Self:
        self._socket = await self._connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open_socket().close()

    async def __aiter__(self) -> AsyncIterator[LiveEvent]:
        while not self._has_ended:
            socket = self._open_socket()
            with suppress(ConnectionClosed):
                while not self._has_ended:
                    event = self._receive(parse_json(await socket.recv()))
                    if event is not None:
                        yield event
            if not self._has_ended:
                await self._reconnect(socket)

    def _receive(self, message: dict[str, Any]) -> LiveEvent | None:
        if message["type"] == "error":
            raise error_of_code(message.get("code", ""), message["message"])
        event = self._parser.parse(message["type"], message, message.get("id", ""))
        self._has_ended = isinstance(event, ExecutionSummary)
        return event

    async def _send(self, message: str | bytes) -> None:
        if self._has_ended:
            raise ConflictError(
                f"{self._execution_id} has ended: nothing can be typed any more."
            )
        socket = self._open_socket()
        if socket.state is not State.OPEN:
            socket = await self._reconnect(socket)
        # A message that was under way is not sent again: it could be typed twice.
        with suppress(ConnectionClosed):
            await socket.send(message)

    async def _reconnect(self, lost: ClientConnection) -> ClientConnection:
        """Both who read and who type may notice that the connection is lost."""
        async with self._connecting:
            if self._socket is lost:
                if self._on_lost is not None:
                    self._on_lost()
                self._socket = await self._connect()
            return self._open_socket()

    async def _connect(self) -> ClientConnection:
        endpoint, failures = self._exchange.endpoint, 0
        path = path_of("executions", self._execution_id, "terminal")
        url = endpoint.url.replace("http", "ws", 1) + path
        while True:
            try:
                return await connect(
                    f"{url}?after={self._parser.last_id}",
                    additional_headers=endpoint.headers,
                    user_agent_header=None,
                    proxy=None if endpoint.is_local else True,
                )
            except (OSError, InvalidHandshake) as fault:
                failures += 1
                outcome = outcome_of(fault)
            await asyncio.sleep(self._exchange.pause_s(failures, Request("GET", path), outcome))

    def _open_socket(self) -> ClientConnection:
        if self._socket is None:
            raise RuntimeError("A terminal is a context manager: use `async with`.")
        return self._socket


def outcome_of(fault: OSError | InvalidHandshake) -> HttpOutcome:
    if not isinstance(fault, InvalidStatus):
        return httpx.ConnectError(str(fault))
    headers = {name.lower(): value for name, value in fault.response.headers.raw_items()}
    return HttpAnswer(fault.response.status_code, headers, bytes(fault.response.body or b""))
