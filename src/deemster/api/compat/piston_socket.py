"""Piston's WebSocket /connect: runs one program, whose input is typed while it runs."""

import asyncio
import signal
from contextlib import aclosing, suppress
from enum import IntEnum
from typing import Final

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from deemster.api.app_state import AppState, check_streams
from deemster.api.compat.bearer_token import bearer_headers
from deemster.api.compat.error_answers import message_of
from deemster.api.compat.piston_output import ProgramFailed, StagedOutput
from deemster.api.compat.piston_request import check_fields, execute_request
from deemster.api.compat.piston_runtimes import find_runtime
from deemster.api.compat.request_json import Object, parse_object
from deemster.api.compat.run_to_end import stop
from deemster.api.feed.live_output import OutputCursor
from deemster.api.http.socket_token import subprotocols_of, with_socket_token
from deemster.api.live_socket import LiveSocket
from deemster.api.models.live_input import INPUT_BYTES
from deemster.api.permissions import PISTON_PREFIXES
from deemster.domain.errors import DeemsterError, Refused
from deemster.domain.execution import ProgramIo
from deemster.domain.ids import ExecutionId
from deemster.metrics import REFUSED, STREAMS
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
    # The client may be gone before it is told why the connection is closed.
    with suppress(WebSocketDisconnect):
        try:
            await serve(socket)
            code = CloseCode.JOB_COMPLETED
        except Closing as closing:
            code = closing.code
        except DeemsterError as fault:
            REFUSED.labels(fault.code).inc()
            await socket.send_json({"type": "error", "message": error_text(fault)})
            code = CloseCode.NOTIFIED_ERROR
        await socket.close(code, REASONS[code])


def error_text(fault: DeemsterError) -> str:
    return str(fault) if isinstance(fault, ProgramFailed) else message_of(fault)


async def serve(socket: WebSocket) -> None:
    scope = {**socket.scope, "headers": bearer_headers(socket)}
    given = WebSocket(scope, socket.receive, socket.send)
    live = await LiveSocket.open(socket, with_socket_token(given))
    state, caller = live.state, live.caller
    check_streams(state, caller)
    with state.feed.count_stream(caller.id), STREAMS.track_inprogress():
        body = await first_program(live)
        check_fields(body)
        runtime = await find_runtime(state, body["language"], body["version"])
        service = state.executions
        asked = execute_request(service.accept, runtime.language, body, ProgramIo.STREAMS)
        accepted = await service.start(socket, caller, asked)
        try:
            await live.send(
                {
                    "type": "runtime",
                    "language": runtime.name,
                    "version": runtime.written_version,
                }
            )
            output = StagedOutput(runtime.language)
            await live.talk(
                send_output(live, accepted.id, output), receive_input(live, accepted.id)
            )
        finally:
            # Nobody can come back to the program.
            await asyncio.shield(stop(state, accepted.id))


async def first_program(live: LiveSocket) -> Object:
    try:
        async with asyncio.timeout(INIT_S):
            while True:
                message = await receive_object(live)
                if message.get("type") == "init":
                    return message
                if message.get("type") in ("data", "signal"):
                    raise Closing(CloseCode.NOT_YET_INITIALIZED)
    except TimeoutError:
        raise Closing(CloseCode.INITIALIZATION_TIMEOUT) from None


async def receive_object(live: LiveSocket) -> Object:
    message = await live.receive()
    content: str | bytes = message.get("text") or message.get("bytes") or b""
    if isinstance(content, str):
        content = content.encode(errors="surrogatepass")
    return parse_object(content)


async def send_output(live: LiveSocket, execution: ExecutionId, output: StagedOutput) -> None:
    """Returns when the program has ended."""
    follow = live.state.live_output.follow
    async with aclosing(follow(execution, OutputCursor(), live.is_authorised)) as events:
        async for event in events:
            for message in output.messages_of(event):
                await live.send(message)
    if not output.has_ended:
        await live.check_authorised()
        raise ProgramFailed("The server is being restarted: run the program again.")


async def receive_input(live: LiveSocket, execution: ExecutionId) -> None:
    while True:
        message = await receive_object(live)
        match message.get("type"):
            case "init":
                raise Closing(CloseCode.ALREADY_INITIALIZED)
            case "data":
                if message.get("stream") != "stdin":
                    raise Closing(CloseCode.ONLY_STDIN)
                await type_text(live.state, execution, message.get("data"))
            case "signal":
                name = message.get("signal")
                if not isinstance(name, str) or name not in SIGNALS:
                    raise Closing(CloseCode.INVALID_SIGNAL)
                await add_input(live.state, execution, "signal", name.encode())


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
