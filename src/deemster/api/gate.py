"""Round every request: its id, its line in the log, its headers, and faults of ours."""

import re
import secrets
import time
from typing import Final

import structlog
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deemster.api.faults import Crashed, response_of

HEADER: Final = b"x-request-id"
GIVEN: Final = re.compile(rb"[A-Za-z0-9._-]{1,64}")
"""Ids of clients that may go into our log."""
LEFT: Final = 499
"""In the log, for who did not wait for an answer."""
NO_STORE: Final = (b"cache-control", b"no-store")
NO_SNIFF: Final = (b"x-content-type-options", b"nosniff")


class Gate:
    """Plain ASGI: what Starlette offers for this would cost a task and a queue per request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
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

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = message["headers"]
                if not any(name == NO_STORE[0] for name, _ in headers):
                    headers = [*headers, NO_STORE]
                message["headers"] = [*headers, NO_SNIFF, (HEADER, given)]
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
            self._log.info(
                "request.answered",
                method=scope["method"],
                path=route.path if route is not None else None,
                status=status or LEFT,
                ms=round((time.perf_counter() - began_s) * 1000, 2),
            )


def request_id(scope: Scope) -> bytes:
    """The client's own, if it is a decent one; else a new one."""
    for name, value in scope["headers"]:
        if name == HEADER and GIVEN.fullmatch(value):
            found: bytes = value
            return found
    return secrets.token_hex(12).encode()
