"""Finds the token of a WebSocket: in a header or, from browsers, in a subprotocol."""

from typing import Final

from starlette.websockets import WebSocket

TOKEN_PREFIX: Final = "deemster.token."  # noqa: S105 - a prefix
"""Browsers can't send an Authorization header with a WebSocket: they send the token as a second
subprotocol with this prefix."""


def subprotocols_of(socket: WebSocket) -> list[str]:
    """Without the token."""
    protocols: list[str] = socket.scope.get("subprotocols", [])
    return [each for each in protocols if not each.startswith(TOKEN_PREFIX)]


def with_socket_token(socket: WebSocket) -> WebSocket:
    """Takes the token of a subprotocol for that of the header.

    A cookie alone does not count: any page could open a WebSocket with it.
    """
    headers = [
        (name, value)
        for name, value in socket.scope["headers"]
        if name not in {b"cookie", b"authorization"}
    ]
    token = socket.headers.get("authorization")
    for each in socket.scope.get("subprotocols", []):
        if token is None and each.startswith(TOKEN_PREFIX):
            token = f"Bearer {each.removeprefix(TOKEN_PREFIX)}"
    if token is not None:
        headers.append((b"authorization", token.encode("latin-1", errors="replace")))
    scope = {**socket.scope, "headers": headers}
    return WebSocket(scope, socket.receive, socket.send)
