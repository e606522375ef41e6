"""Tokens for clients, and a proxy that cuts the answers to them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from deemster.store import accounts
from deemster.store.pool import Pool, connection
from deemster.wiring.address import Address
from tests.builders import make_account
from tests.waiting import until


async def make_token(pool: Pool, name: str = "ada") -> str:
    account = await make_account(pool, name)
    async with connection(pool) as acquired:
        return await accounts.add_token(acquired, account, "for tests")


@asynccontextmanager
async def cutting(to: Address, *max_bytes: int) -> AsyncIterator[tuple[Address, list[int]]]:
    """A proxy that passes so many bytes of the answers on its first connection, so many on its
    second and so on, and then closes the connection. Also gives the connections made.
    """
    made: list[int] = []
    ended: list[int] = []

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = len(made)
        made.append(number)
        most = max_bytes[number] if number < len(max_bytes) else None
        upstream_reader, upstream_writer = await asyncio.open_connection(to.local_host, to.port)
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(copy(reader, upstream_writer)),
                group.create_task(copy(upstream_reader, writer, most)),
            ]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
        for each in (writer, upstream_writer):
            each.close()
            await each.wait_closed()
        ended.append(number)

    server = await asyncio.start_server(forward, "127.0.0.1", 0)
    async with server:
        yield Address("127.0.0.1", server.sockets[0].getsockname()[1]), made
        await until(lambda: len(ended) == len(made))


async def copy(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, most: int | None = None
) -> None:
    """Ends after `most` bytes; the byte after them must have come."""
    passed = 0
    while data := await reader.read(1 << 16):
        if most is not None:
            data = data[: most - passed]
        writer.write(data)
        await writer.drain()
        passed += len(data)
        if passed == most:
            return
