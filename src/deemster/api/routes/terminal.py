"""WebSocket `/v1/executions/{id}/terminal`: types into a program and shows its output (E7)."""

import base64
from collections.abc import Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError
from starlette.routing import WebSocketRoute
from starlette.types import Message
from starlette.websockets import WebSocket, WebSocketDisconnect

from deemster.api.admission import RateLimited
from deemster.api.executions import visible_execution
from deemster.api.feed.live_output import OutputCursor
from deemster.api.http.errors import Forbidden, Unauthorised
from deemster.api.http.socket_token import subprotocols_of, with_socket_token
from deemster.api.live_socket import LiveSocket
from deemster.api.models.executions import EXECUTIONS_PATH, execution_out
from deemster.api.models.live_input import INPUT_BYTES, KeyedInputIn, parse_cursor
from deemster.api.state import check_streams
from deemster.api.typed_input import record_typing, type_in
from deemster.domain.errors import DeemsterError, NotFound, Refused, Unavailable
from deemster.domain.execution import ExecutionView, OutputChunk, status_of
from deemster.domain.lifecycle import TERMINAL
from deemster.metrics import STREAMS
from deemster.store.pool import connection, transaction
from deemster.text_form import fault_text

SUBPROTOCOL: Final = "deemster.terminal"
CODES: Final[Mapping[type[DeemsterError], int]] = {
    Unauthorised: 4401,
    Forbidden: 4403,
    NotFound: 4404,
    RateLimited: 4429,
}
REFUSED: Final = 4400
RESTARTING: Final = 1012
TRY_AGAIN: Final = 1013


async def serve_terminal(socket: WebSocket) -> None:
    await socket.accept(SUBPROTOCOL if SUBPROTOCOL in subprotocols_of(socket) else None)
    # The client may be gone before it is told why the connection is closed.
    with suppress(WebSocketDisconnect):
        try:
            live = await LiveSocket.open(socket, with_socket_token(socket))
            state = live.state
            after = parse_cursor(socket.query_params.get("after"))
            async with connection(state.pool) as acquired:
                execution = socket.path_params["id"]
                view = await visible_execution(acquired, live.caller, execution)
            check_streams(state, live.caller)
            with state.feed.count_stream(live.caller.id), STREAMS.track_inprogress():
                has_ended = await TerminalConnection(live, view).serve(after)
            await socket.close(1000 if has_ended else RESTARTING)
        except Unavailable:
            await socket.close(TRY_AGAIN)
        except DeemsterError as fault:
            code = next((CODES[each] for each in type(fault).__mro__ if each in CODES), REFUSED)
            await socket.send_json({"type": "error", "message": str(fault), "code": fault.code})
            await socket.close(code)


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
