"""Bounds the size and the time of headers and trailers, which uvicorn does not (D3)."""

import asyncio
from typing import Any, Final, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

HEAD_BYTES: Final = 64 * 1024
"""Most bytes of a request's line and headers, not counting the last chunk received. The same
counts for bytes after these which are no part of the body: trailers, sizes of chunks.
"""
HEAD_S: Final = 30.0
"""Longest time from the start of the connection, or of a request, to the end of its headers."""


class HttpConnection(HttpToolsProtocol):
    """Without these bounds a client could fill the memory before it is authenticated."""

    _deadline: asyncio.TimerHandle | None = None
    """Set while headers are incomplete."""
    _head_bytes = 0
    _has_body = False
    """Whether the last chunk received had a part of a body."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast("asyncio.Transport", transport))
        self._begin_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        before, self._has_body = self.cycle, False
        super().data_received(data)
        if not self._is_in_head():
            if self._deadline is not None or self._has_body or self.cycle is not before:
                self._end_head()
            else:
                self._count(data)
        elif self._deadline is None or self.cycle is not before:
            self._begin_head()  # after another request, in the same chunk
        else:
            self._count(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Leaves out trailers, which would become headers while the request is handled."""
        if self._is_in_head():
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        self._has_body = True
        super().on_body(body)

    def _count(self, data: bytes) -> None:
        self._head_bytes += len(data)
        if self._head_bytes > HEAD_BYTES:
            self.send_400_response("The headers of the request are too long.")

    def _is_in_head(self) -> bool:
        # It is None at first, despite its declared type.
        scope = cast("dict[str, Any] | None", self.scope)
        return scope is None or "method" not in scope

    def _begin_head(self) -> None:
        self._end_head()
        self._deadline = self.loop.call_later(HEAD_S, self._time_out)

    def _time_out(self) -> None:
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is not None and not cycle.response_complete:
            # The previous request is still being answered.
            self._deadline = self.loop.call_later(HEAD_S, self._time_out)
        else:
            self.transport.close()

    def _end_head(self) -> None:
        self._head_bytes = 0
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
