"""`/v1/executions/{id}`: live output, typed input, and a recording (E5, E7)."""

import base64
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response, StreamingResponse

from deemster.api.authentication import Caller
from deemster.api.executions import visible_execution
from deemster.api.feed.live_output import OutputCursor
from deemster.api.http.errors import errors
from deemster.api.models.executions import EXECUTIONS_PATH, execution_out
from deemster.api.models.live_input import InputIn, parse_cursor
from deemster.api.state import AppState, app_state, check_streams
from deemster.domain.account import Account
from deemster.domain.errors import Conflict
from deemster.domain.execution import (
    CompileResult,
    ExecutionView,
    OutputChunk,
    ProgramIo,
    status_of,
)
from deemster.domain.ids import ExecutionId
from deemster.domain.lifecycle import TERMINAL
from deemster.store import executions
from deemster.store.pool import connection

router = APIRouter(tags=["executions"])

HEARTBEAT: Final = b": still here\n\n"
STREAM_HEADERS: Final = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
MEDIA_TYPE: Final = "text/event-stream"
RECORDING_TYPE: Final = "application/x-asciicast"


@router.get(
    EXECUTIONS_PATH + "/{id}/events",
    status_code=200,
    response_class=StreamingResponse,
    responses={200: {"content": {MEDIA_TYPE: {}}}, **errors(404, 422)},
)
async def stream_output(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
    last_event_id: Annotated[str | None, Header(alias="Last-Event-ID", max_length=64)] = None,
    after: Annotated[str | None, Query(max_length=64)] = None,
) -> Response:
    """Streams states and output while the program runs: `status`, `output` with `stream`,
    `number` and `data` (or `data_base64`), and `end` with the result. Each output has an id:
    who comes back with Last-Event-ID misses nothing.
    """
    state = app_state(request)
    cursor = parse_cursor(last_event_id or after)
    async with connection(state.pool) as acquired:
        view = await visible_execution(acquired, caller, id)
    check_streams(state, caller)
    body = output_messages(state, caller, view.id, cursor)
    return StreamingResponse(body, media_type=MEDIA_TYPE, headers=STREAM_HEADERS)


async def output_messages(
    state: AppState, caller: Account, execution: ExecutionId, after: OutputCursor
) -> AsyncIterator[bytes]:
    with state.feed.count_stream(caller.id):
        async for each in state.live_output.follow(execution, after):
            if not isinstance(each, CompileResult):
                yield message_of(each)


def message_of(each: OutputChunk | ExecutionView | None) -> bytes:
    if each is None:
        return HEARTBEAT
    if isinstance(each, OutputChunk):
        return message("output", chunk_out(each), f"{each.attempt}.{each.number}")
    if each.state in TERMINAL:
        return message("end", execution_out(each, None).model_dump(mode="json"))
    status = {"status": status_of(each.state, each.result), "attempt": each.attempt}
    return message("status", status)


def chunk_out(chunk: OutputChunk) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "stream": chunk.stream.name.lower(),
        "attempt": chunk.attempt,
        "number": chunk.number,
        "at_ms": chunk.at_ms,
    }
    try:
        shown["data"] = chunk.content.decode()
    except UnicodeDecodeError:
        shown["data_base64"] = base64.b64encode(chunk.content).decode()
    return shown


def message(event: str, data: dict[str, Any], id: str | None = None) -> bytes:  # noqa: A002
    head = f"id: {id}\n" if id else ""
    return f"{head}event: {event}\ndata: {json.dumps(data)}\n\n".encode()


@router.post(
    EXECUTIONS_PATH + "/{id}/input", status_code=204, responses=errors(400, 404, 409, 413, 422)
)
async def type_input(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
    typed: InputIn,
) -> Response:
    """Types into a running program, ends its input, sends it a signal or resizes its terminal.
    The execution must have been started with `io` streams or terminal.
    """
    async with connection(app_state(request).pool) as acquired:
        view = await visible_execution(acquired, caller, id)
        if view.io is ProgramIo.BATCH:
            raise Conflict(f"{id} was started without typed input: start it with io=streams.")
        if not await executions.add_input(acquired, view.id, *typed.stored):
            raise Conflict(f"{id} has ended: nothing can be typed any more.")
    return Response(status_code=204)


@router.get(
    EXECUTIONS_PATH + "/{id}/recording",
    response_class=Response,
    responses={200: {"content": {RECORDING_TYPE: {}}}, **errors(404, 422)},
)
async def download_recording(
    request: Request,
    caller: Caller,
    id: str,  # noqa: A002
) -> Response:
    """The output with its times, in the format asciicast v2, for `asciinema play`."""
    async with connection(app_state(request).pool) as acquired:
        view = await visible_execution(acquired, caller, id)
        cursor, lines = OutputCursor(), [recording_header(view)]
        while chunks := await executions.output_after(
            acquired, view.id, attempt=cursor.attempt, number=cursor.number
        ):
            lines += [recorded(each) for each in chunks]
            cursor = OutputCursor(chunks[-1].attempt, chunks[-1].number)
    headers = {"Content-Disposition": f'attachment; filename="{view.id}.cast"'}
    body = "".join(f"{line}\n" for line in lines)
    return Response(body, media_type=RECORDING_TYPE, headers=headers)


def recording_header(view: ExecutionView) -> str:
    started = view.started_at or view.submitted_at
    return json.dumps(
        {
            "version": 2,
            "width": view.options.columns,
            "height": view.options.rows,
            "timestamp": int(started.timestamp()),
            "title": f"{view.language} {view.id}",
        }
    )


def recorded(chunk: OutputChunk) -> str:
    text = chunk.content.decode(errors="replace")
    return json.dumps([chunk.at_ms / 1000, "o", text])
