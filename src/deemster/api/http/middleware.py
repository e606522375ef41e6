"""Adds a request id, a log line, a metric and security headers to every request."""

import asyncio
import functools
import re
import secrets
import time
from typing import Any, Final

import structlog
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deemster.api.http.errors import Crashed, error_response
from deemster.metrics import REQUESTS

Header = tuple[bytes, bytes]

REQUEST_ID: Final = b"x-request-id"
SAFE_ID: Final = re.compile(rb"[A-Za-z0-9._-]{1,64}")
"""A client's own request id is used if it has this form."""
CLIENT_LEFT: Final = 499
"""Status in log and metrics if the client disconnected before the response."""
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""Clients can invent other methods, each of which would become a new time series."""
NO_STORE: Final = (b"cache-control", b"no-store")
POLICY: Final = (
    b"content-security-policy",
    b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
)
"""A browser that takes a response for a page runs and loads nothing."""
DOCS: Final = "/docs"
DOCS_POLICY: Final = (
    POLICY[0],
    # Swagger UI sets styles of single elements.
    (
        b"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        b"connect-src 'self'; img-src 'self' data:; "
        b"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
)
ALWAYS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
ONLY_TLS: Final = (b"strict-transport-security", b"max-age=31536000")


class RequestMiddleware:
    """Plain ASGI: Starlette's BaseHTTPMiddleware costs a task and a queue per request."""

    def __init__(self, app: ASGIApp, public_url: str | None = None) -> None:
        self._app = app
        uses_tls = (public_url or "").lower().startswith("https://")
        self._headers: tuple[Header, ...] = (*ALWAYS, ONLY_TLS) if uses_tls else ALWAYS
        self._log = structlog.get_logger("deemster.api").bind()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began_s = time.perf_counter()
        request_id = request_id_for(scope)
        scope["request_id"] = request_id.decode()
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(requestId=scope["request_id"])
        status = 0
        answered_s = 0.0

        async def send_with_headers(message: Message) -> None:
            nonlocal status, answered_s
            if message["type"] == "http.response.start":
                status = message["status"]
                answered_s = time.perf_counter()
                headers = [*message["headers"], (REQUEST_ID, request_id)]
                names = {name for name, _ in headers}
                headers += [each for each in self._headers if each[0] not in names]
                if NO_STORE[0] not in names:
                    headers.append(NO_STORE)
                if POLICY[0] not in names:
                    is_docs = scope["path"].startswith(DOCS)
                    headers.append(DOCS_POLICY if is_docs else POLICY)
                message["headers"] = headers
            await send(message)

        # The server leaves out the body of a response to HEAD; the app answers as to GET.
        inner = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
        try:
            if inner is scope:
                await self._app(scope, receive, send_with_headers)
            else:
                await answer_head(self._app, inner, receive, send_with_headers)
        except ClientDisconnect:
            status = CLIENT_LEFT
        except Exception as fault:
            self._log.error("request.crashed", exc_info=fault)
            if status:
                raise  # the response has begun: only a broken connection can show the error
            crashed = error_response(Crashed(), scope["request_id"])
            await crashed(scope, receive, send_with_headers)
        finally:
            route = inner.get("route")
            took_s = (answered_s or time.perf_counter()) - began_s
            path = route.path if route is not None else "none"
            request_timer(scope["method"], path, status or CLIENT_LEFT).observe(took_s)
            self._log.info(
                "request.answered",
                method=scope["method"],
                path=route.path if route is not None else None,
                client=client_of(scope),
                status=status or CLIENT_LEFT,
                ms=round((time.perf_counter() - began_s) * 1000, 2),
            )


async def answer_head(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Sends only the headers, and ends event streams, which would go on for ever."""
    is_read = False
    answered = asyncio.Event()

    async def receive_once() -> Message:
        nonlocal is_read
        if not is_read:
            is_read = True
            return await receive()
        await answered.wait()
        return {"type": "http.disconnect"}

    async def send_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            await send(message)
            await send({"type": "http.response.body", "body": b""})
            answered.set()

    await app(scope, receive_once, send_headers)


def client_of(scope: Scope) -> str | None:
    """The client's address, after trusted proxies were taken into account."""
    client = scope.get("client")
    return client[0] if client else None


@functools.lru_cache(1024)
def request_timer(method: str, path: str, status: int) -> Any:
    return REQUESTS.labels(method if method in METHODS else "other", path, status)


def request_id_for(scope: Scope) -> bytes:
    """The client's own id, if it is safe to log; else a new one."""
    for name, value in scope["headers"]:
        if name == REQUEST_ID and SAFE_ID.fullmatch(value):
            found: bytes = value
            return found
    return secrets.token_hex(12).encode()
