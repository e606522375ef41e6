"""A client's connection: the head of a request is bounded, and comes soon (D3)."""

import asyncio
from typing import Any, Final, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

HEAD_BYTES: Final = 64 * 1024
"""Of a request's line and headers; what comes with its last piece is not counted."""
HEAD_S: Final = 30.0
"""From the first byte of a head, or from the connection's beginning, to its end."""


class Connection(HttpToolsProtocol):
    """uvicorn bounds neither: anybody could fill the memory, or hold a place for ever, before
    they are asked who they are.
    """

    _deadline: asyncio.TimerHandle | None = None
    """While a head is waited for."""
    _head_bytes = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast("asyncio.Transport", transport))
        self._begin_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        super().data_received(data)
        if not self._is_in_head():
            if self._deadline is not None:
                self._end_head()
        elif self._deadline is None or self.cycle is not before:
            self._begin_head()  # behind another request, in the same piece
        else:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self.send_400_response("The headers of the request are too long.")

    def _is_in_head(self) -> bool:
        # None at first, whatever its type says.
        scope = cast("dict[str, Any] | None", self.scope)
        return scope is None or "method" not in scope

    def _begin_head(self) -> None:
        self._end_head()
        self._deadline = self.loop.call_later(HEAD_S, self._give_up)

    def _give_up(self) -> None:
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is not None and not cycle.response_complete:
            # Who is still being answered may take as long as that.
            self._deadline = self.loop.call_later(HEAD_S, self._give_up)
        else:
            self.transport.close()

    def _end_head(self) -> None:
        self._head_bytes = 0
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
