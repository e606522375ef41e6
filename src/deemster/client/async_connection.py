"""Carries out the steps of calls by asynchronous input and output."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import aclosing, suppress
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

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

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http
        self._stream: httpx.Response | None = None
        self._pieces: AsyncIterator[bytes] | None = None

    async def carry_out(self, step: Step) -> HttpOutcome | bytes | None:
        try:
            match step:
                case Request():
                    return await self._send(step, stream=False)
                case Pause():
                    await asyncio.sleep(step.seconds)
                    return None
                case OpenStream():
                    return await self._send(step.request, stream=True)
                case ReadStream():
                    assert self._pieces is not None, "a stream is opened before it is read"
                    return await anext(self._pieces, b"")
        except httpx.RequestError as fault:
            return fault

    async def _send(self, request: Request, *, stream: bool) -> HttpAnswer:
        await self.aclose()
        built = self._http.build_request(**request.http_options())
        answer = await self._http.send(built, stream=stream)
        if stream and answer.is_success:
            self._stream, self._pieces = answer, answer.aiter_bytes()
            return HttpAnswer(answer.status_code, dict(answer.headers))
        return HttpAnswer(answer.status_code, dict(answer.headers), await answer.aread())

    async def aclose(self) -> None:
        if self._stream is not None:
            await self._stream.aclose()


class Connection:
    def __init__(self, http: httpx.AsyncClient, exchange: Exchange) -> None:
        self._http = http
        self.exchange = exchange

    async def run(self, steps: Steps[T]) -> T:
        runner = StepRunner(self._http)
        try:
            step = next(steps)
            while True:
                step = steps.send(await runner.carry_out(step))
        except StopIteration as end:
            return cast("T", end.value)

    async def iterate(self, steps: ItemSteps[T]) -> AsyncGenerator[T, None]:
        async with aclosing(StepRunner(self._http)) as runner:
            with suppress(StopIteration):
                step = next(steps)
                while True:
                    if isinstance(step, Emit):
                        yield step.item
                        step = next(steps)
                    else:
                        step = steps.send(await runner.carry_out(step))


class CallGroup:
    """The methods are made of the calls in `deemster.client.calls`, which describe them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection


def returning(
    call: Callable[Concatenate[Exchange, P], Steps[T]],
) -> Callable[Concatenate[CallGroup, P], Coroutine[Any, Any, T]]:
    @wraps(call)
    async def method(self: CallGroup, /, *args: P.args, **kwargs: P.kwargs) -> T:
        connection = self._connection
        return await connection.run(call(connection.exchange, *args, **kwargs))

    return method


def iterating(
    call: Callable[Concatenate[Exchange, P], ItemSteps[T]],
) -> Callable[Concatenate[CallGroup, P], AsyncGenerator[T, None]]:
    @wraps(call)
    def method(
        self: CallGroup, /, *args: P.args, **kwargs: P.kwargs
    ) -> AsyncGenerator[T, None]:
        connection = self._connection
        return connection.iterate(call(connection.exchange, *args, **kwargs))

    return method
