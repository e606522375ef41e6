"""Server-Sent Events are parsed from pieces of any size, and a lost stream is resumed (H1)."""

from typing import Any

import httpx
import pytest

from deemster.client import NoAnswerError, NotFoundError, Retries, UnexpectedAnswerError
from deemster.client.calls import executions, submissions
from deemster.client.event_stream import EventParser, ServerEvent, follow
from deemster.client.exchange import Exchange
from deemster.client.models.executions import ExecutionSummary
from deemster.client.models.live import Output, StatusChange
from deemster.client.steps import HttpAnswer
from tests.client.play import EXCHANGE, play, problem, stream

TEXT = (
    ": a comment\n"
    "retry: 2000\nid: 1-0\n\n"
    "event: first\nid: 1-1\ndata: one\n\n"
    "data:two\ndata: \u2028lines\n\n"
    "event: no data\n\n"
    "id: 1-2\nevent: third\ndata: 3\n\n"
    "event: cut off\ndata: x\n"
)
EVENTS = [
    ServerEvent("first", "one", "1-1"),
    ServerEvent("message", "two\n\u2028lines", "1-1"),
    ServerEvent("third", "3", "1-2"),
]
OUTPUT = b'id: 1.%d\nevent: output\ndata: {"stream": "stdout", "data": "%d", "at_ms": 5}\n\n'
RUNNING = b'event: status\ndata: {"status": "RUNNING", "attempt": 1}\n\n'
END = (
    b'event: end\ndata: {"execution_id": "exe_1", "status": "COMPLETED", "language": "c",'
    b' "io": "batch", "user_id": "usr_1", "submitted_at": "2026-01-01T00:00:00Z"}\n\n'
)
LOST = httpx.ReadError("connection lost")


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_events_may_be_cut_anywhere(line_end: str) -> None:
    content = TEXT.replace("\n", line_end).encode()
    for size in (1, 2, 3, 7, len(content)):
        parser = EventParser()
        pieces = [content[at : at + size] for at in range(0, len(content), size)]
        assert [each for piece in pieces for each in parser.feed(piece)] == EVENTS, size


def test_e8_a_stream_is_resumed_after_the_last_event() -> None:
    """The status, which is told again, is emitted once; an unknown event is left out."""
    played = play(
        executions.events(EXCHANGE, "exe_1"),
        *stream(RUNNING + OUTPUT % (1, 1), OUTPUT % (2, 2) + (OUTPUT % (3, 3))[:30], LOST),
        httpx.ConnectError("refused"),
        problem(503),
        *stream(RUNNING + b"event: new\ndata: {}\n\n" + OUTPUT % (3, 3), b""),
        *stream(END),
    )
    ids = [each.headers.get("Last-Event-ID") for each in played.requests]
    assert ids == [None, "1.2", "1.2", "1.2", "1.3"]
    change, *outputs, end = played.items
    assert isinstance(change, StatusChange)
    assert all(isinstance(each, Output) for each in outputs)
    assert [each.content for each in outputs] == [b"1", b"2", b"3"]
    assert isinstance(end, ExecutionSummary)
    assert end.has_ended


def test_h1_a_stream_of_a_submission_ends_with_its_last_event() -> None:
    data = (
        b'data: {"submission_id": "sub_1", "status": "%s", "state": "x", "attempt": 1,'
        b' "at": "2026-01-01T00:00:00Z", "problem_id": "prob_x", "language": "c",'
        b' "user_id": "usr_1"}\n\n'
    )
    first = b"id: 7-1\nevent: submission.running\n" + data % b"running"
    last = b"id: 7-2\nevent: submission.finished\n" + data % b"finished"
    progress = b'event: progress\ndata: {"case": 1, "of": 9}\n\n'
    played = play(submissions.events(EXCHANGE, "sub_1"), *stream(first + progress + last))
    names = [type(each).__name__ for each in played.items]
    assert names == ["SubmissionEvent", "CaseProgress", "SubmissionEvent"]

    # The server answers 204 to a client that has seen the last event.
    played = play(
        submissions.events(EXCHANGE, "sub_1"), *stream(first, b""), HttpAnswer(204, {})
    )
    assert played.requests[1].headers["Last-Event-ID"] == "7-1"


def test_a_stream_that_cannot_be_opened_is_an_error() -> None:
    with pytest.raises(NotFoundError):
        play(executions.events(EXCHANGE, "exe_1"), *stream(RUNNING, b""), problem(404))
    with pytest.raises(NoAnswerError):
        play(executions.events(EXCHANGE, "exe_1"), *[LOST] * 7)
    page = HttpAnswer(200, {"content-type": "text/html"})
    with pytest.raises(UnexpectedAnswerError):
        play(executions.events(EXCHANGE, "exe_1"), page)


def test_a_stream_that_works_may_be_lost_any_number_of_times() -> None:
    def parse(name: str, data: Any, _id: str) -> Any:
        return data if name == "x" else None

    exchange = Exchange(EXCHANGE.endpoint, Retries(pauses_s=(1.0,)))
    lost = [each for _ in range(20) for each in stream(b": heartbeat\n\n", LOST)]
    last = stream(b"event: x\ndata: 5\n\n")
    steps = follow(exchange, "/v1/x", parse, lambda each: each == 5)
    assert play(steps, *lost, *last).items == [5]
