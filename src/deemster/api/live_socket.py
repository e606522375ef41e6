"""A WebSocket that shows a running program to an authorised client, and takes its input."""

import asyncio
import json
from collections.abc import Awaitable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.types import Message
from starlette.websockets import WebSocket, WebSocketDisconnect

from deemster.api.admission import RateLimited
from deemster.api.authentication import authenticate, is_still_authorised
from deemster.api.feed.stream import SEND_TIMEOUT_S
from deemster.api.http.errors import Unauthorised
from deemster.api.permissions import SUBMIT, check_permission
from deemster.api.state import AppState, app_state
from deemster.domain.account import Account

T = TypeVar("T")


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
        try:
            async with asyncio.timeout(SEND_TIMEOUT_S):
                await self.socket.send_text(json.dumps(message))
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
