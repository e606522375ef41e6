"""WebSocket `/v1/executions/{id}/terminal`: types into a program and shows its output (E7)."""

import asyncio
import base64
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from pydantic import ValidationError
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from deemster.api.authentication import authenticate
from deemster.api.executions import visible_execution
from deemster.api.feed.live_output import OutputCursor
from deemster.api.http.errors import Forbidden, Unauthorised
from deemster.api.http.socket_token import subprotocols_of, with_socket_token
from deemster.api.models.executions import EXECUTIONS_PATH, execution_out
from deemster.api.models.live_input import InputIn, parse_cursor
from deemster.api.permissions import SUBMIT, check_permission
from deemster.api.state import AppState, app_state, check_streams
from deemster.domain.errors import DeemsterError, NotFound
from deemster.domain.execution import ExecutionView, OutputChunk, status_of
from deemster.domain.ids import ExecutionId
from deemster.domain.lifecycle import TERMINAL
from deemster.store import executions
from deemster.store.pool import connection

SUBPROTOCOL: Final = "deemster.terminal"
CODES: Final[Mapping[type[DeemsterError], int]] = {
    Unauthorised: 4401,
    Forbidden: 4403,
    NotFound: 4404,
}
REFUSED: Final = 4400


async def serve_terminal(socket: WebSocket) -> None:
    await socket.accept(SUBPROTOCOL if SUBPROTOCOL in subprotocols_of(socket) else None)
    try:
        state = app_state(socket)
        caller = await authenticate(with_socket_token(socket))
        check_permission(caller, SUBMIT)
        after = parse_cursor(socket.query_params.get("after"))
        async with connection(state.pool) as acquired:
            view = await visible_execution(acquired, caller, socket.path_params["id"])
        check_streams(state, caller)
        with state.feed.count_stream(caller.id):
            await serve(socket, state, view.id, after)
    except WebSocketDisconnect:
        return
    except DeemsterError as fault:
        await refuse(socket, fault)


async def serve(
    socket: WebSocket, state: AppState, execution: ExecutionId, after: OutputCursor
) -> None:
    """Ends when the program has ended, or the client leaves; the program goes on then."""
    async with asyncio.TaskGroup() as group:
        sending = group.create_task(send_output(socket, state, execution, after))
        receiving = group.create_task(receive_input(socket, state, execution))
        await asyncio.wait((sending, receiving), return_when=asyncio.FIRST_COMPLETED)
        has_ended = sending.done() and not receiving.done()
        sending.cancel()
        receiving.cancel()
    if has_ended:
        await socket.close()


async def send_output(
    socket: WebSocket, state: AppState, execution: ExecutionId, after: OutputCursor
) -> None:
    with suppress(WebSocketDisconnect):
        async for each in state.live_output.follow(execution, after):
            if isinstance(each, OutputChunk):
                await socket.send_json(output_message(each))
            elif isinstance(each, ExecutionView):
                await socket.send_json(state_message(each))


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


async def receive_input(socket: WebSocket, state: AppState, execution: ExecutionId) -> None:
    """Text is JSON, as for POST …/input; a binary message is typed as it is."""
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return
        data = message.get("bytes")
        if data is not None:
            kind, content = "data", bytes(data)
        else:
            try:
                kind, content = InputIn.model_validate_json(message.get("text") or "").stored
            except ValidationError as fault:
                problem = str(fault.errors()[0]["msg"])
                await socket.send_json({"type": "error", "message": problem})
                continue
        async with connection(state.pool) as acquired:
            await executions.add_input(acquired, execution, kind, content)


async def refuse(socket: WebSocket, fault: DeemsterError) -> None:
    code = next((code for kind, code in CODES.items() if isinstance(fault, kind)), REFUSED)
    await socket.send_json({"type": "error", "message": str(fault), "code": fault.code})
    await socket.close(code)


routes: Final = [WebSocketRoute(EXECUTIONS_PATH + "/{id}/terminal", serve_terminal)]
