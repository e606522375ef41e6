"""Piston's WebSocket /connect: runs one program, whose input is typed while it runs."""

import asyncio
import signal
from collections.abc import Awaitable
from enum import IntEnum
from typing import Final

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from deemster.api.authentication import authenticate
from deemster.api.compat.piston_output import StagedOutput
from deemster.api.compat.piston_request import check_fields, execute_request
from deemster.api.compat.piston_runtimes import Runtime, find_runtime
from deemster.api.compat.translation import Object, bearer_headers, parse_object, stop
from deemster.api.feed.live_output import OutputCursor
from deemster.api.http.errors import kind_of
from deemster.api.http.socket_token import subprotocols_of, with_socket_token
from deemster.api.models.live_input import INPUT_BYTES
from deemster.api.permissions import PISTON_PREFIXES, SUBMIT, check_permission
from deemster.api.state import AppState, app_state, check_streams
from deemster.domain.account import Account
from deemster.domain.errors import DeemsterError, Refused, Unavailable
from deemster.domain.execution import ProgramIo
from deemster.domain.ids import ExecutionId
from deemster.metrics import REFUSED
from deemster.store import executions
from deemster.store.pool import connection

INIT_S: Final = 1.0
"""Time within which a client must send its program."""
SIGNALS: Final = frozenset(each.name for each in signal.Signals)


class CloseCode(IntEnum):
    ALREADY_INITIALIZED = 4000
    INITIALIZATION_TIMEOUT = 4001
    NOTIFIED_ERROR = 4002
    NOT_YET_INITIALIZED = 4003
    ONLY_STDIN = 4004
    INVALID_SIGNAL = 4005
    JOB_COMPLETED = 4999


REASONS: Final = {
    CloseCode.ALREADY_INITIALIZED: "Already Initialized",
    CloseCode.INITIALIZATION_TIMEOUT: "Initialization Timeout",
    CloseCode.NOTIFIED_ERROR: "Notified Error",
    CloseCode.NOT_YET_INITIALIZED: "Not yet initialized",
    CloseCode.ONLY_STDIN: "Can only write to stdin",
    CloseCode.INVALID_SIGNAL: "Invalid signal",
    CloseCode.JOB_COMPLETED: "Job Completed",
}


class Closing(Exception):
    """The connection is to be closed with this code."""

    def __init__(self, code: CloseCode) -> None:
        super().__init__(code)
        self.code = code


async def connect(socket: WebSocket) -> None:
    await socket.accept(next(iter(subprotocols_of(socket)), None))
    try:
        code = await serve(socket)
    except WebSocketDisconnect:
        return
    except Closing as closing:
        code = closing.code
    except DeemsterError as fault:
        REFUSED.labels(fault.code).inc()
        hidden = kind_of(type(fault)).detail if isinstance(fault, Unavailable) else None
        await socket.send_json({"type": "error", "message": hidden or str(fault)})
        code = CloseCode.NOTIFIED_ERROR
    await socket.close(code, REASONS[code])


async def serve(socket: WebSocket) -> CloseCode:
    state = app_state(socket)
    caller = await caller_of(socket)
    check_streams(state, caller)
    with state.feed.count_stream(caller.id):
        body = await first_program(socket)
        check_fields(body)
        runtime = await find_runtime(state, body["language"], body["version"])
        service = state.executions
        asked = execute_request(service.accept, runtime.language, body, ProgramIo.STREAMS)
        accepted = await service.start(socket, caller, asked)
        try:
            await socket.send_json(
                {
                    "type": "runtime",
                    "language": runtime.name,
                    "version": runtime.written_version,
                }
            )
            return await run(socket, state, runtime, accepted.id)
        finally:
            # Nobody can come back to the program.
            await asyncio.shield(stop(state, accepted.id))


async def caller_of(socket: WebSocket) -> Account:
    scope = {**socket.scope, "headers": bearer_headers(socket)}
    caller = await authenticate(
        with_socket_token(WebSocket(scope, socket.receive, socket.send))
    )
    app_state(socket).admission.count_request(caller)
    check_permission(caller, SUBMIT)
    return caller


async def first_program(socket: WebSocket) -> Object:
    try:
        async with asyncio.timeout(INIT_S):
            while True:
                message = await receive_object(socket)
                if message.get("type") == "init":
                    return message
                if message.get("type") in ("data", "signal"):
                    raise Closing(CloseCode.NOT_YET_INITIALIZED)
    except TimeoutError:
        raise Closing(CloseCode.INITIALIZATION_TIMEOUT) from None


async def receive_object(socket: WebSocket) -> Object:
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1000))
    content: str | bytes = message.get("text") or message.get("bytes") or b""
    if isinstance(content, str):
        content = content.encode(errors="surrogatepass")
    return parse_object(content)


async def run(
    socket: WebSocket, state: AppState, runtime: Runtime, execution: ExecutionId
) -> CloseCode:
    """Ends when the program has ended, the client leaves, or sends what it may not."""
    async with asyncio.TaskGroup() as group:
        sending = group.create_task(outcome_of(send_output(socket, state, runtime, execution)))
        receiving = group.create_task(outcome_of(receive_input(socket, state, execution)))
        done, _ = await asyncio.wait((sending, receiving), return_when=asyncio.FIRST_COMPLETED)
        sending.cancel()
        receiving.cancel()
    fault = (sending if sending in done else receiving).result()
    if fault is not None:
        raise fault
    return CloseCode.JOB_COMPLETED


async def outcome_of(work: Awaitable[None]) -> Exception | None:
    """A task of a group must not raise: the group would wrap what it raises."""
    try:
        await work
    except (Closing, DeemsterError, WebSocketDisconnect) as fault:
        return fault
    return None


async def send_output(
    socket: WebSocket, state: AppState, runtime: Runtime, execution: ExecutionId
) -> None:
    output = StagedOutput(runtime.language)
    async for event in state.live_output.follow(execution, OutputCursor()):
        for message in output.messages_of(event):
            await socket.send_json(message)


async def receive_input(socket: WebSocket, state: AppState, execution: ExecutionId) -> None:
    while True:
        message = await receive_object(socket)
        match message.get("type"):
            case "init":
                raise Closing(CloseCode.ALREADY_INITIALIZED)
            case "data":
                if message.get("stream") != "stdin":
                    raise Closing(CloseCode.ONLY_STDIN)
                await type_text(state, execution, message.get("data"))
            case "signal":
                name = message.get("signal")
                if not isinstance(name, str) or name not in SIGNALS:
                    raise Closing(CloseCode.INVALID_SIGNAL)
                await add_input(state, execution, "signal", name.encode())


async def type_text(state: AppState, execution: ExecutionId, text: object) -> None:
    if not isinstance(text, str):
        raise Refused("data must be a string")
    content = text.encode()
    for at in range(0, len(content), INPUT_BYTES):
        await add_input(state, execution, "data", content[at : at + INPUT_BYTES])


async def add_input(state: AppState, execution: ExecutionId, kind: str, content: bytes) -> None:
    async with connection(state.pool) as acquired:
        await executions.add_input(acquired, execution, kind, content)


routes: Final = [
    WebSocketRoute(prefix + "/connect" + slash, connect)
    for prefix in PISTON_PREFIXES
    for slash in ("", "/")
]
