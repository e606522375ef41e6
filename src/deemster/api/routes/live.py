"""`/v1/executions/{id}`: live output, typed input, and a recording (E5, E7)."""

import asyncio
import base64
import codecs
import json
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query, Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from deemster.api.app_state import app_state, check_streams
from deemster.api.authentication import BEARER, SECURED, Caller, is_still_authorised
from deemster.api.executions import visible_execution
from deemster.api.feed.feed import Feed
from deemster.api.feed.live_output import LiveEvent, OutputCursor
from deemster.api.feed.stream import MEDIA_TYPE, NO_MORE, SEND_TIMEOUT_S, STREAM_CONTENT
from deemster.api.http.body import read_json, request_body
from deemster.api.http.errors import errors
from deemster.api.http.idempotent_replay import IDEMPOTENCY_KEY, idempotency_key
from deemster.api.models.executions import EXECUTIONS_PATH, execution_out
from deemster.api.models.live_input import INPUT_BODY_BYTES, InputIn, parse_cursor
from deemster.api.typed_input import record_typing, type_in
from deemster.domain.account import Account
from deemster.domain.errors import Conflict
from deemster.domain.execution import (
    CompileResult,
    ExecutionView,
    OutputChunk,
    Stream,
    status_of,
)
from deemster.domain.lifecycle import TERMINAL
from deemster.metrics import STREAMS
from deemster.store import executions
from deemster.store.executions import Resize
from deemster.store.pool import connection, transaction

router = APIRouter(tags=["executions"])

HEARTBEAT: Final = b": still here\n\n"
STREAM_HEADERS: Final = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
END_ID: Final = "end"
RECORDING_TYPE: Final = "application/x-asciicast"


@router.get(
    EXECUTIONS_PATH + "/{id}/events",
    status_code=200,
    response_class=StreamingResponse,
    responses={200: {"content": STREAM_CONTENT}, **NO_MORE, **errors(404, 422)},
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
    last = last_event_id or after
    cursor = OutputCursor() if last == END_ID else parse_cursor(last)
    async with connection(state.pool) as acquired:
        view = await visible_execution(acquired, caller, id)
    if last == END_ID and view.state in TERMINAL:
        return Response(status_code=204)
    check_streams(state, caller)
    events = state.live_output.follow(
        view.id, cursor, lambda: is_still_authorised(request, caller)
    )
    return LiveStream(state.feed, caller, output_messages(events))


class LiveStream(StreamingResponse):
    """Breaks the connection of a client that does not read, and leaves nothing open."""

    media_type = MEDIA_TYPE

    def __init__(
        self, feed: Feed, caller: Account, messages: AsyncGenerator[bytes, None]
    ) -> None:
        super().__init__(messages, headers=STREAM_HEADERS)
        self._feed = feed
        self._caller = caller
        self._messages = messages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Counts before anything is awaited: many streams may be opened at the same time."""
        with self._feed.count_stream(self._caller.id), STREAMS.track_inprogress():
            await super().__call__(scope, receive, send)

    async def stream_response(self, send: Send) -> None:
        async def send_in_time(message: Message) -> None:
            try:
                async with asyncio.timeout(SEND_TIMEOUT_S):
                    await send(message)
            except TimeoutError:
                raise ClientDisconnect from None

        async with aclosing(self._messages):
            await super().stream_response(send_in_time)


async def output_messages(
    events: AsyncGenerator[LiveEvent, None],
) -> AsyncGenerator[bytes, None]:
    async with aclosing(events):
        async for each in events:
            if not isinstance(each, CompileResult):
                yield message_of(each)


def message_of(each: OutputChunk | ExecutionView | None) -> bytes:
    if each is None:
        return HEARTBEAT
    if isinstance(each, OutputChunk):
        return message("output", chunk_out(each), f"{each.attempt}.{each.number}")
    if each.state in TERMINAL:
        return message("end", execution_out(each, None).model_dump(mode="json"), END_ID)
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
    EXECUTIONS_PATH + "/{id}/input",
    status_code=204,
    openapi_extra={**request_body(InputIn), **SECURED, **IDEMPOTENCY_KEY},
    responses=errors(400, 404, 408, 409, 413, 415, 422),
)
async def type_input(
    request: Request,
    id: str,  # noqa: A002
) -> Response:
    """Types into a running program, ends its input, sends it a signal or resizes its terminal.
    The execution must have been started with `io` streams or terminal.
    """
    caller = await BEARER(request)
    typed = await read_json(request, InputIn, INPUT_BODY_BYTES)
    key = idempotency_key(request)
    async with transaction(app_state(request).pool) as writing:
        view = await visible_execution(writing, caller, id)
        if not await type_in(writing, view, *typed.stored, key):
            raise Conflict(f"{view.id} has ended: nothing can be typed any more.")
        await record_typing(writing, request, caller, view)
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
        cursor, chunks = OutputCursor(), list[OutputChunk]()
        while found := await executions.output_after(
            acquired, view.id, attempt=cursor.attempt, number=cursor.number
        ):
            chunks += found
            cursor = OutputCursor(found[-1].attempt, found[-1].number)
        resizes = await executions.resizes(acquired, view.id)
    headers = {"Content-Disposition": f'attachment; filename="{view.id}.cast"'}
    body = "".join(f"{json.dumps(line)}\n" for line in recording(view, chunks, resizes))
    return Response(body, media_type=RECORDING_TYPE, headers=headers)


def recording(
    view: ExecutionView, chunks: Iterable[OutputChunk], resizes: Iterable[Resize]
) -> Iterator[object]:
    """A size from before the start, also of an earlier attempt, is the first size."""
    started = view.started_at or view.submitted_at
    rows, columns = view.options.rows, view.options.columns
    lines: list[tuple[float, str, str]] = []
    for each in resizes:
        if each.at <= started:
            rows, columns = each.rows, each.columns
        else:
            at_s = round((each.at - started).total_seconds(), 3)
            lines.append((at_s, "r", f"{each.columns}x{each.rows}"))
    yield {
        "version": 2,
        "width": columns,
        "height": rows,
        "timestamp": int(started.timestamp()),
        "title": f"{view.language} {view.id}",
    }
    yield from sorted([*lines, *recorded(chunks)], key=lambda line: line[0])


def recorded(chunks: Iterable[OutputChunk]) -> Iterator[tuple[float, str, str]]:
    """A character may begin in one chunk and end in the next one of its stream."""
    decoders = {each: codecs.getincrementaldecoder("utf-8")("replace") for each in Stream}
    at_s = 0.0
    for chunk in chunks:
        at_s = chunk.at_ms / 1000
        if text := decoders[chunk.stream].decode(chunk.content):
            yield at_s, "o", text
    for decoder in decoders.values():
        if text := decoder.decode(b"", final=True):
            yield at_s, "o", text
