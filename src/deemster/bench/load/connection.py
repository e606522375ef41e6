"""A minimal HTTP/1.1 keep-alive connection, which costs a load generator little CPU time."""

import asyncio
import time
from typing import Final, cast

ANSWER_TIMEOUT_S: Final = 60.0
STATUS: Final = slice(9, 12)
"""Position of the status in `HTTP/1.1 202 Accepted`."""
LENGTH: Final = b"content-length: "


class NoAnswer(Exception):
    """The text is the reason in one or two words."""


class HttpConnection(asyncio.Protocol):
    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._buffer = b""
        self.used_s = 0.0

    @classmethod
    async def connect(cls, host: str, port: int) -> "HttpConnection":
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                _, connection = await loop.create_connection(cls, host, port)
        except OSError as fault:
            raise NoAnswer("not connected") from fault
        return connection

    @property
    def is_open(self) -> bool:
        return self._transport is not None

    async def request(self, data: bytes) -> tuple[int, bytes]:
        """The status and the body of the answer."""
        if self._transport is None:
            raise NoAnswer("closed")
        loop = asyncio.get_running_loop()
        self._answer = loop.create_future()
        self._transport.write(data)
        late = loop.call_later(ANSWER_TIMEOUT_S, self._fail, "no answer")
        try:
            return await self._answer
        finally:
            late.cancel()
            self.used_s = time.perf_counter()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(
            "asyncio.Transport", transport
        )  # uvloop's transports are no subclass

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

    def _fail(self, reason: str) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(NoAnswer(reason))
