"""Reads Server-Sent Events, and resumes a lost stream after the last event (H1, E8)."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import httpx

from deemster.client.exchange import Exchange
from deemster.client.models.parsing import parse_json, unexpected
from deemster.client.steps import (
    Emit,
    HttpAnswer,
    HttpOutcome,
    ItemSteps,
    OpenStream,
    Pause,
    ReadStream,
    Request,
)

T = TypeVar("T")

SILENCE_S: Final = 45.0
"""Longest time without data; the server sends a heartbeat every 15 seconds."""
MEDIA_TYPE: Final = "text/event-stream"
LINE_END: Final = re.compile(rb"\r\n|\n|\r(?=[\s\S])")
"""A \\r at the end of a piece may be the first half of a line end."""


@dataclass(frozen=True, slots=True)
class ServerEvent:
    name: str
    data: str
    last_id: str
    """Id with which the stream is resumed after this event."""


class EventParser:
    """Parses a stream as the HTML standard says, from pieces of any size.

    `httpx.Response.iter_lines` can't be used: it also ends lines at characters that may be in
    the data, such as U+2028.
    """

    def __init__(self, last_id: str = "") -> None:
        self._last_id = last_id
        self._rest = b""
        self._fields: dict[str, list[str]] = {}

    def feed(self, piece: bytes) -> Iterator[ServerEvent]:
        *lines, self._rest = LINE_END.split(self._rest + piece)
        for line in lines:
            if line:
                name, _, value = line.decode(errors="replace").partition(":")
                self._fields.setdefault(name, []).append(value.removeprefix(" "))
            else:
                yield from self._dispatch()

    def _dispatch(self) -> Iterator[ServerEvent]:
        """An empty line ends an event; one without data only sets the id."""
        fields, self._fields = self._fields, {}
        self._last_id = fields.get("id", [self._last_id])[-1]
        if "data" in fields:
            name = fields.get("event", ["message"])[-1]
            yield ServerEvent(name, "\n".join(fields["data"]), self._last_id)


def follow(
    exchange: Exchange,
    path: str,
    parse: Callable[[str, Any, str], T | None],
    is_last: Callable[[T], bool],
) -> ItemSteps[T]:
    """Emits every event until the last one; a stream that ends before it is opened again.

    `parse` gets the name of an event, its data and its id. It returns None for an event that
    this version does not know.
    """
    last_id, failures = "", 0
    while True:
        request = stream_request(path, last_id)
        outcome: HttpOutcome = yield OpenStream(request)
        if isinstance(outcome, HttpAnswer) and outcome.status == 204:
            return  # the client has seen the last event
        if isinstance(outcome, HttpAnswer) and outcome.is_success:
            check_media_type(outcome)
            failures = 0
            parser = EventParser(last_id)
            while isinstance(piece := (yield ReadStream()), bytes) and piece:
                for event in parser.feed(piece):
                    last_id = event.last_id
                    item = parse(event.name, parse_json(event.data), last_id)
                    if item is None:
                        continue
                    yield Emit(item)
                    if is_last(item):
                        return
            outcome = piece or httpx.RemoteProtocolError("the stream ended too early")
        failures += 1
        yield Pause(exchange.pause_s(failures, request, outcome))


def stream_request(path: str, last_id: str) -> Request:
    headers = {"Accept": MEDIA_TYPE}
    if last_id:
        headers["Last-Event-ID"] = last_id
    return Request("GET", path, headers=headers, timeout_s=SILENCE_S)


def check_media_type(answer: HttpAnswer) -> None:
    if not answer.headers.get("content-type", "").startswith(MEDIA_TYPE):
        raise unexpected("it is no stream of events")
