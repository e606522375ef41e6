"""Plays the server: gives results to the steps of a call, without any connection."""

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import httpx

from deemster.client.endpoint import Endpoint
from deemster.client.exchange import Exchange, Retries
from deemster.client.steps import Emit, HttpAnswer, OpenStream, Pause, Request

T = TypeVar("T")

EXCHANGE = Exchange(Endpoint("http://127.0.0.1:8000", "secret"), Retries())


@dataclass(slots=True)
class Played(Generic[T]):
    requests: list[Request] = field(default_factory=list)
    pauses_s: list[float] = field(default_factory=list)
    items: list[T] = field(default_factory=list)
    result: Any = None


def play(steps: Generator[Any, Any, Any], *results: Any) -> Played[Any]:
    """Gives one of the results to each step that is no pause and no item."""
    played: Played[Any] = Played()
    left = iter(results)
    answer: Any = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration as end:
            played.result = end.value
            assert list(left) == [], "not all results were asked for"
            return played
        answer = None
        match step:
            case Pause():
                played.pauses_s.append(step.seconds)
            case Emit():
                played.items.append(step.item)
            case _:
                if isinstance(step, Request | OpenStream):
                    request = step if isinstance(step, Request) else step.request
                    played.requests.append(request)
                answer = next(left)


def problem(status: int, code: str = "x", **headers: str) -> HttpAnswer:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    body = f'{{"type": "urn:deemster:error:{code}", "detail": "It is so."}}'
    return HttpAnswer(status, names, body.encode())


def stream(*pieces: bytes | httpx.RequestError) -> Iterable[Any]:
    """The results of opening a stream and reading it; `b""` is its end."""
    return [HttpAnswer(200, {"content-type": "text/event-stream; charset=utf-8"}), *pieces]
