"""WebSocket `/v1/executions/{id}/terminal`: types into a program and shows its output (E7)."""

import base64
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError
from starlette.routing import WebSocketRoute
from starlette.types import Message
from starlette.websockets import WebSocket

from deemster.api.executions import visible_execution
from deemster.api.feed.live_output import OutputCursor
from deemster.api.live_socket import ENDED, RESTARTING, LiveSocket, serve_socket
from deemster.api.models.executions import EXECUTIONS_PATH, execution_out
from deemster.api.models.live_input import INPUT_BYTES, KeyedInputIn, parse_cursor
from deemster.api.typed_input import record_typing, type_in
from deemster.domain.errors import DeemsterError, Refused, Unavailable
from deemster.domain.execution import ExecutionView, OutputChunk, status_of
from deemster.domain.lifecycle import TERMINAL
from deemster.pattern_messages import fault_text
from deemster.store.pool import connection, transaction

SUBPROTOCOL: Final = "deemster.terminal"


async def serve_terminal(socket: WebSocket) -> None:
    await serve_socket(socket, SUBPROTOCOL, show_terminal, refusal_message)


async def show_terminal(live: LiveSocket) -> int:
    after = parse_cursor(live.socket.query_params.get("after"))
    async with connection(live.state.pool) as acquired:
        execution = live.socket.path_params["id"]
        view = await visible_execution(acquired, live.caller, execution)
    has_ended = await TerminalConnection(live, view).serve(after)
    return ENDED if has_ended else RESTARTING


def refusal_message(fault: DeemsterError) -> dict[str, Any] | None:
    """None: the client comes back, and needs no message."""
    if isinstance(fault, Unavailable):
        return None
    return {"type": "error", "message": str(fault), "code": fault.code}


@dataclass(slots=True)
class TerminalConnection:
    live: LiveSocket
    view: ExecutionView
    has_typed: bool = False

    async def serve(self, after: OutputCursor) -> bool:
        """Returns True when the program has ended, False if this process ends before.

        If the client leaves, the program goes on.
        """
        return await self.live.talk(self._send_output(after), self._receive_input())

    async def _send_output(self, after: OutputCursor) -> bool:
        has_ended = False
        live = self.live
        follow = live.state.live_output.follow
        async with aclosing(follow(self.view.id, after, live.is_authorised)) as events:
            async for each in events:
                if isinstance(each, OutputChunk):
                    await live.send(output_message(each))
                elif isinstance(each, ExecutionView):
                    has_ended = each.state in TERMINAL
                    await live.send(state_message(each))
        if not has_ended:
            await live.check_authorised()
        return has_ended

    async def _receive_input(self) -> None:
        """Text is JSON, as for POST …/input; a binary message is typed as it is."""
        while True:
            message = await self.live.receive()
            try:
                await self._type(*input_of(message))
            except ValidationError as fault:
                await self._complain(fault_text(fault.errors()[0]))
            except Refused as fault:
                await self._complain(str(fault))

    async def _type(self, kind: str, content: bytes, key: str | None) -> None:
        live = self.live
        async with transaction(live.state.pool) as writing:
            if not await type_in(writing, self.view, kind, content, key):
                return  # the end is told in a moment
            if not self.has_typed:
                await record_typing(writing, live.socket, live.caller, self.view)
        self.has_typed = True
        if key is not None:
            await live.send({"type": "typed", "key": key})

    async def _complain(self, problem: str) -> None:
        await self.live.send({"type": "error", "message": problem})


def input_of(message: Message) -> tuple[str, bytes, str | None]:
    """The kind, the content and the key of what a client typed."""
    data = message.get("bytes")
    if data is None:
        typed = KeyedInputIn.model_validate_json(message.get("text") or "")
        return *typed.stored, typed.key
    if len(data) > INPUT_BYTES:
        raise Refused(f"Send at most {INPUT_BYTES} bytes at once.")
    return "data", bytes(data), None


def output_message(chunk: OutputChunk) -> dict[str, Any]:
    return {
        "type": "output",
        "id": f"{chunk.attempt}.{chunk.number}",
        "stream": chunk.stream.name.lower(),
        "data_base64": base64.b64encode(chunk.content).decode(),
    }


def state_message(view: ExecutionView) -> dict[str, Any]:
    if view.state in TERMINAL:
        return {"type": "end", **execution_out(view, None).model_dump(mode="json")}
    status = status_of(view.state, view.result)
    return {"type": "status", "status": status, "attempt": view.attempt}


routes: Final = [WebSocketRoute(EXECUTIONS_PATH + "/{id}/terminal", serve_terminal)]
