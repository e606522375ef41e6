"""A WebSocket that shows a running program to an authorised client, and takes its input."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from starlette.types import Message
from starlette.websockets import WebSocket, WebSocketDisconnect

from deemster.api.admission import RateLimited
from deemster.api.app_state import AppState, app_state, check_streams
from deemster.api.authentication import authenticate, is_still_authorised
from deemster.api.feed.stream import SEND_TIMEOUT_S
from deemster.api.http.errors import Forbidden, Unauthorised
from deemster.api.http.socket_token import subprotocols_of, with_socket_token
from deemster.api.permissions import SUBMIT, check_permission
from deemster.domain.account import Account
from deemster.domain.errors import DeemsterError, NotFound, Unavailable
from deemster.metrics import STREAMS

T = TypeVar("T")
CODES: Final[Mapping[type[DeemsterError], int]] = {
    Unauthorised: 4401,
    Forbidden: 4403,
    NotFound: 4404,
    RateLimited: 4429,
}
REFUSED: Final = 4400
ENDED: Final = 1000
RESTARTING: Final = 1012
TRY_AGAIN: Final = 1013


@dataclass(frozen=True, slots=True)
class LiveSocket:
    """All methods raise WebSocketDisconnect if the client leaves."""

    socket: WebSocket
    credentials: WebSocket
    """Has the token in its headers."""
    state: AppState
    caller: Account

    @classmethod
    async def open(cls, socket: WebSocket, credentials: WebSocket) -> "LiveSocket":
        """Finds the caller, who must be allowed to run programs."""
        caller = await authenticate(credentials)
        check_permission(caller, SUBMIT)
        return cls(socket, credentials, app_state(socket), caller)

    async def talk(self, sending: Awaitable[T], receiving: Coroutine[Any, Any, None]) -> T:
        """Does both at the same time, until `sending` returns, or either raises."""
        try:
            async with asyncio.TaskGroup() as group:
                listening = group.create_task(receiving)
                found = await sending
                listening.cancel()
        except BaseExceptionGroup as group_error:
            raise group_error.exceptions[0] from None
        return found

    async def send(self, message: dict[str, Any]) -> None:
        await self.send_text(json.dumps(message))

    async def send_text(self, text: str) -> None:
        try:
            async with asyncio.timeout(SEND_TIMEOUT_S):
                await self.socket.send_text(text)
        except TimeoutError:
            raise WebSocketDisconnect(1006) from None

    async def receive(self) -> Message:
        message = await self.socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1000))
        await self._keep_to_rate()
        await self.check_authorised()
        return message

    async def _keep_to_rate(self) -> None:
        """A client that types too fast waits, and what it sends waits in its connection."""
        while True:
            try:
                self.state.admission.count_request(self.caller)
            except RateLimited as fault:
                await asyncio.sleep(fault.retry_after_s)
            else:
                return

    async def is_authorised(self) -> bool:
        return await is_still_authorised(self.credentials, self.caller)

    async def check_authorised(self) -> None:
        if not await self.is_authorised():
            raise Unauthorised("This token has expired or was revoked: create a new one.")


async def serve_socket(
    socket: WebSocket,
    subprotocol: str,
    serve: Callable[[LiveSocket], Awaitable[int]],
    error_message: Callable[[DeemsterError], dict[str, Any] | None],
) -> None:
    """Accepts a WebSocket, and closes it with the code that `serve` returns, or with the code
    of an error, after the message that tells it.
    """
    await socket.accept(subprotocol if subprotocol in subprotocols_of(socket) else None)
    # The client may be gone before it is told why the connection is closed.
    with suppress(WebSocketDisconnect):
        try:
            live = await LiveSocket.open(socket, with_socket_token(socket))
            check_streams(live.state, live.caller)
            with live.state.feed.count_stream(live.caller.id), STREAMS.track_inprogress():
                code = await serve(live)
        except DeemsterError as fault:
            code = close_code_of(fault)
            if (message := error_message(fault)) is not None:
                await socket.send_json(message)
        await socket.close(code)


def close_code_of(fault: DeemsterError) -> int:
    if isinstance(fault, Unavailable):
        return TRY_AGAIN
    return next((CODES[each] for each in type(fault).__mro__ if each in CODES), REFUSED)
