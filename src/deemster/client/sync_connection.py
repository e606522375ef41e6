"""Carries out the steps of calls by blocking input and output."""

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, suppress
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar, cast

import httpx

from deemster.client.exchange import Exchange
from deemster.client.steps import (
    Emit,
    HttpAnswer,
    HttpOutcome,
    ItemSteps,
    OpenStream,
    Pause,
    ReadStream,
    Request,
    Step,
    Steps,
)

P = ParamSpec("P")
T = TypeVar("T")


class StepRunner:
    """Carries out the steps of one call."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http
        self._stream: httpx.Response | None = None
        self._pieces: Iterator[bytes] = iter(())

    def carry_out(self, step: Step) -> HttpOutcome | bytes | None:
        try:
            match step:
                case Request():
                    return self._send(step, stream=False)
                case Pause():
                    time.sleep(step.seconds)
                    return None
                case OpenStream():
                    return self._send(step.request, stream=True)
                case ReadStream():
                    return next(self._pieces, b"")
        except httpx.RequestError as fault:
            return fault

    def _send(self, request: Request, *, stream: bool) -> HttpAnswer:
        self.close()
        built = self._http.build_request(**request.http_options())
        answer = self._http.send(built, stream=stream)
        if stream and answer.is_success:
            self._stream, self._pieces = answer, answer.iter_bytes()
            return HttpAnswer(answer.status_code, dict(answer.headers))
        return HttpAnswer(answer.status_code, dict(answer.headers), answer.read())

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()


class Connection:
    def __init__(self, http: httpx.Client, exchange: Exchange) -> None:
        self._http = http
        self.exchange = exchange

    def run(self, steps: Steps[T]) -> T:
        runner = StepRunner(self._http)
        try:
            step = next(steps)
            while True:
                step = steps.send(runner.carry_out(step))
        except StopIteration as end:
            return cast("T", end.value)

    def iterate(self, steps: ItemSteps[T]) -> Generator[T, None, None]:
        with closing(StepRunner(self._http)) as runner, suppress(StopIteration):
            step = next(steps)
            while True:
                if isinstance(step, Emit):
                    yield step.item
                    step = next(steps)
                else:
                    step = steps.send(runner.carry_out(step))


class CallGroup:
    """The methods are made of the calls in `deemster.client.calls`, which describe them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection


def returning(
    call: Callable[Concatenate[Exchange, P], Steps[T]],
) -> Callable[Concatenate[CallGroup, P], T]:
    @wraps(call)
    def method(self: CallGroup, /, *args: P.args, **kwargs: P.kwargs) -> T:
        connection = self._connection
        return connection.run(call(connection.exchange, *args, **kwargs))

    return method


def iterating(
    call: Callable[Concatenate[Exchange, P], ItemSteps[T]],
) -> Callable[Concatenate[CallGroup, P], Generator[T, None, None]]:
    @wraps(call)
    def method(
        self: CallGroup, /, *args: P.args, **kwargs: P.kwargs
    ) -> Generator[T, None, None]:
        connection = self._connection
        return connection.iterate(call(connection.exchange, *args, **kwargs))

    return method
