"""Round every request: its id, its line in the log, its headers, and faults of ours."""

import functools
import re
import secrets
import time
from typing import Any, Final

import structlog
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deemster.api.http.errors import Crashed, response_of
from deemster.api.http.headers import NO_STORE, POLICY, headers_of, policy_of
from deemster.metrics import REQUESTS

HEADER: Final = b"x-request-id"
GIVEN: Final = re.compile(rb"[A-Za-z0-9._-]{1,64}")
"""Ids of clients that may go into our log."""
LEFT: Final = 499
"""In the log, for who did not wait for an answer."""
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""Any other is a client's own word, of which there may be many."""


class RequestMiddleware:
    """Plain ASGI: what Starlette offers for this would cost a task and a queue per request."""

    def __init__(self, app: ASGIApp, public_url: str | None = None) -> None:
        self._app = app
        self._always = headers_of(public_url)
        self._log = structlog.get_logger("deemster.api").bind()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began_s = time.perf_counter()
        given = request_id(scope)
        scope["request_id"] = given.decode()
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(requestId=scope["request_id"])
        status = 0
        answered_s = 0.0

        async def send_on(message: Message) -> None:
            nonlocal status, answered_s
            if message["type"] == "http.response.start":
                status = message["status"]
                answered_s = time.perf_counter()
                headers = [*message["headers"], *self._always, (HEADER, given)]
                named = {name for name, _ in headers}
                if NO_STORE[0] not in named:
                    headers.append(NO_STORE)
                if POLICY[0] not in named:
                    headers.append(policy_of(scope["path"]))
                message["headers"] = headers
            await send(message)

        try:
            await self._app(scope, receive, send_on)
        except ClientDisconnect:
            status = LEFT
        except Exception as fault:
            self._log.error("request.crashed", exc_info=fault)
            if status:
                raise  # half an answer is out: only a broken connection tells of it
            crashed = response_of(Crashed(), scope["request_id"])
            await crashed(scope, receive, send_on)
        finally:
            route = scope.get("route")
            took_s = (answered_s or time.perf_counter()) - began_s
            path = route.path if route is not None else "none"
            timer_of(scope["method"], path, status or LEFT).observe(took_s)
            self._log.info(
                "request.answered",
                method=scope["method"],
                path=route.path if route is not None else None,
                status=status or LEFT,
                ms=round((time.perf_counter() - began_s) * 1000, 2),
            )


@functools.lru_cache(1024)
def timer_of(method: str, path: str, status: int) -> Any:
    return REQUESTS.labels(method if method in METHODS else "other", path, status)


def request_id(scope: Scope) -> bytes:
    """The client's own, if it is a decent one; else a new one."""
    for name, value in scope["headers"]:
        if name == HEADER and GIVEN.fullmatch(value):
            found: bytes = value
            return found
    return secrets.token_hex(12).encode()
