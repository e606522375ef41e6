"""Answers errors as the clients of compatible APIs expect them."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from deemster.api.http.errors import error_response, kind_of
from deemster.domain.errors import DeemsterError
from deemster.metrics import REFUSED

Endpoint = Callable[[Request], Awaitable[Response]]


def answering_errors(
    endpoint: Endpoint, answer: Callable[[DeemsterError], Response]
) -> Endpoint:
    """Errors are answered as the clients of that API expect them."""

    async def run(request: Request) -> Response:
        try:
            return await endpoint(request)
        except DeemsterError as fault:
            REFUSED.labels(fault.code).inc()
            return answer(fault)

    return run


def message_of(fault: DeemsterError) -> str:
    """Leaves out what only the operator may know."""
    kind = kind_of(type(fault))
    return kind.detail or str(fault) or kind.title


def error_as(body: object, fault: DeemsterError) -> Response:
    """The body with the status and the headers that the error has everywhere else."""
    usual = error_response(fault, "")
    dropped = {"content-type", "content-length"}
    headers = {name: each for name, each in usual.headers.items() if name not in dropped}
    return JSONResponse(body, usual.status_code, headers)
