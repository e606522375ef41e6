"""Connects to addresses that were checked before, whatever the name means by now (H3)."""

from collections.abc import Iterable, Sequence
from typing import Final

import httpcore
from httpcore import SOCKET_OPTION

from deemster.pipeline.deliver.address import Address

MOST_TRIED: Final = 4
"""Of a name with many addresses."""


class PinnedBackend(httpcore.AsyncNetworkBackend):
    """For one exchange. The name is only what the other side is asked for."""

    def __init__(self, addresses: Sequence[Address], connect_s: float) -> None:
        self._addresses = addresses[:MOST_TRIED]
        self._connect_s = connect_s
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - as httpcore calls it
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        # One that is silent must leave the others their time.
        alone = len(self._addresses) == 1
        each_s = self._connect_s if alone else self._connect_s / 2 / len(self._addresses)
        fault: Exception = httpcore.ConnectError("no address")
        for address in self._addresses:
            try:
                return await self._network.connect_tcp(
                    str(address), port, each_s, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as failed:
                fault = failed
        raise fault

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 - as httpcore calls it
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        raise httpcore.UnsupportedProtocol("Webhooks go to hosts.")

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)
