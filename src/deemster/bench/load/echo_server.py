"""A server that answers every request at once, to measure the load generator itself."""

import asyncio
import sys
from typing import Final, cast

import uvloop

from deemster.settings import load_settings
from deemster.wiring.process import die_with_parent

BODY: Final = b'{"id":"sub_00000000000000000000000000"}'
ANSWER: Final = b"HTTP/1.1 202 Accepted\r\ncontent-length: %d\r\n\r\n%b" % (len(BODY), BODY)


class Echo(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(
            "asyncio.Transport", transport
        )  # uvloop's transports are no subclass

    def data_received(self, data: bytes) -> None:
        """Requests are small, so each arrives in one piece."""
        self._transport.write(ANSWER)
        if b"Connection: close" in data:
            self._transport.close()


async def run() -> None:
    settings = load_settings()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Echo, settings.host, settings.port)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    die_with_parent(int(sys.argv[1]))
    uvloop.run(run())
