"""Names become addresses, by the system's resolver, without holding anybody else up."""

import asyncio
import ipaddress
import socket
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from deemster.pipeline.deliver.address import Address

Lookup = Callable[[str, int], Awaitable[Sequence[Address]]]
"""All addresses of a host. `OSError`: it has none."""


async def look_up(host: str, port: int) -> Sequence[Address]:
    # A thread of its own: a resolver that hangs would use up any pool, and a pool's threads
    # would be waited for when the process ends.
    loop = asyncio.get_running_loop()
    found: asyncio.Future[Sequence[Address]] = loop.create_future()

    def tell(addresses: Sequence[Address] | Exception) -> None:
        if found.done():
            return  # nobody waits any more
        if isinstance(addresses, Exception):
            found.set_exception(addresses)
        else:
            found.set_result(addresses)

    def work() -> None:
        told: Sequence[Address] | Exception
        try:
            told = resolve(host, port)
        except (OSError, ValueError) as fault:
            told = OSError(f"{type(fault).__name__}")
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(tell, told)

    threading.Thread(target=work, name="lookup", daemon=True).start()
    return await found


def resolve(host: str, port: int) -> Sequence[Address]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    # Without doubles, in the order that the system prefers.
    return list(dict.fromkeys(ipaddress.ip_address(each[4][0]) for each in found))
