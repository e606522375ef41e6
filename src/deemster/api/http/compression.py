"""Compresses responses with gzip, except streams and archives."""

from typing import Final

from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

MIN_BYTES: Final = 1024
LEVEL: Final = 5
UNCOMPRESSED: Final = ("/package", "/dolos", "/recording", "/events", "/mcp")
"""Ends of paths with archives, or with output that is sent while it is produced."""
FOR_HOSTS: Final = "/v1/judgehost/"
"""Test data are large, and a slow line is not what limits a judge host."""


class Compression:
    def __init__(self, app: ASGIApp) -> None:
        self._plain = app
        self._compressed = GZipMiddleware(app, MIN_BYTES, LEVEL)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        is_plain = path.startswith(FOR_HOSTS) or path.endswith(UNCOMPRESSED)
        await (self._plain if is_plain else self._compressed)(scope, receive, send)
