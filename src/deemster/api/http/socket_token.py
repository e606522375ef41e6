"""Finds the credentials of a WebSocket: a token, or the cookie of a log-in with its CSRF token.

Browsers send tokens in subprotocols.
"""

from typing import Final

from starlette.websockets import WebSocket

from deemster.api.auth.cookies import CSRF_HEADER

TOKEN_PREFIX: Final = "deemster.token."  # noqa: S105 - a prefix
"""Browsers can't send an Authorization header with a WebSocket: they send the token as a second
subprotocol with this prefix."""
CSRF_PREFIX: Final = "deemster.csrf."
"""Pages of this site send the CSRF token of their log-in with this prefix."""


def subprotocols_of(socket: WebSocket) -> list[str]:
    """Without token and CSRF token."""
    protocols: list[str] = socket.scope.get("subprotocols", [])
    return [each for each in protocols if not each.startswith((TOKEN_PREFIX, CSRF_PREFIX))]


def with_socket_token(socket: WebSocket) -> WebSocket:
    """Takes what stands in subprotocols for the headers that browsers can't send.

    A cookie alone does not count: any page could open a WebSocket with it. With a CSRF token,
    it is checked as for a POST, which also checks the origin of the page.
    """
    token = socket.headers.get("authorization") or subprotocol(socket, TOKEN_PREFIX, "Bearer ")
    csrf = subprotocol(socket, CSRF_PREFIX)
    dropped = {b"authorization", CSRF_HEADER.lower().encode()}
    if token is not None or csrf is None:
        dropped.add(b"cookie")
    headers = [each for each in socket.scope["headers"] if each[0] not in dropped]
    for name, value in (("authorization", token), (CSRF_HEADER.lower(), csrf)):
        if value is not None:
            headers.append((name.encode(), value.encode("latin-1", errors="replace")))
    scope = {**socket.scope, "headers": headers, "method": "POST"}
    return WebSocket(scope, socket.receive, socket.send)


def subprotocol(socket: WebSocket, prefix: str, before: str = "") -> str | None:
    """The rest of the first subprotocol with this prefix."""
    protocols: list[str] = socket.scope.get("subprotocols", [])
    for each in protocols:
        if each.startswith(prefix):
            return before + each.removeprefix(prefix)
    return None
