"""One keep-alive connection, as cheap as can be: what it costs is not the server's."""

import asyncio
import time
from typing import Final, cast

ANSWER_S: Final = 60.0
STATUS: Final = slice(9, 12)
"""Where the status stands in `HTTP/1.1 202 Accepted`."""
LENGTH: Final = b"content-length: "


class Broken(Exception):
    """No answer came; in one word why."""


class Caller(asyncio.Protocol):
    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._buffer = b""
        self.used_s = 0.0

    @classmethod
    async def connect(cls, host: str, port: int) -> "Caller":
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(ANSWER_S):
                _, caller = await loop.create_connection(cls, host, port)
        except OSError as fault:
            raise Broken("not connected") from fault
        return caller

    @property
    def is_open(self) -> bool:
        return self._transport is not None

    async def call(self, request: bytes) -> tuple[int, bytes]:
        """The status and the body."""
        if self._transport is None:
            raise Broken("closed")
        loop = asyncio.get_running_loop()
        self._answer = loop.create_future()
        self._transport.write(request)
        late = loop.call_later(ANSWER_S, self._fail, "no answer")
        try:
            return await self._answer
        finally:
            late.cancel()
            self.used_s = time.perf_counter()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are no subclass

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, _, body = self._buffer.partition(b"\r\n\r\n")
        if not _:
            return
        begin = head.find(LENGTH) + len(LENGTH)
        end = head.find(b"\r", begin)
        length = int(head[begin : end if end > 0 else len(head)])
        if len(body) < length:
            return
        self._buffer = b""
        if self._answer is not None and not self._answer.done():
            self._answer.set_result((int(head[STATUS]), body))

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._fail("closed")

    def _fail(self, why: str) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(Broken(why))
