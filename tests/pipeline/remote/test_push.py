"""M1: a task is sent to a judge host, which may answer what it likes."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_address, ip_network

import httpx
import pytest

from deemster import public_addresses
from deemster.domain.judge_host import JudgeHostId, derive_key
from deemster.pipeline.remote.messages import HostTask, TaskKind
from deemster.pipeline.remote.push import HostUnreachable, TaskPusher
from deemster.public_addresses import Address, Lookup, Network
from deemster.store.pool import Pool
from deemster.store.remote_tasks import HostRoom
from tests.pipeline.work.test_dispatcher_killed import make_room

TASK = HostTask(
    judge_id="jdg_1",
    work="sub_1",
    kind=TaskKind.JUDGE,
    attempt=1,
    language="c",
    main=None,
    files=b"",
    deadline_s=1,
)


@asynccontextmanager
async def endless_host(status: str) -> AsyncIterator[tuple[str, asyncio.Event]]:
    """Answers with a body that does not end until the client leaves."""
    has_left = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 {status}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        try:
            while True:
                writer.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
                await writer.drain()
        except ConnectionError:
            has_left.set()
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", has_left


LOOPBACK = (ip_network("127.0.0.0/8"),)


async def push(
    pool: Pool,
    address: str,
    networks: Sequence[Network] = LOOPBACK,
    look_up: Lookup = public_addresses.look_up,
) -> None:
    room = await make_room(pool, address)
    async with httpx.AsyncClient(trust_env=False, verify=False) as http:
        pusher = TaskPusher(
            pool,
            http,
            lambda host, number: derive_key(b"s", host, number),
            networks,
            look_up,
        )
        await pusher(HostRoom(room.worker, JudgeHostId(room.host), address, None), TASK)


async def test_m1_an_answer_without_an_end_is_not_read(pool: Pool) -> None:
    async with endless_host("202 Accepted") as (address, has_left):
        await push(pool, address)
        await has_left.wait()


async def test_m1_a_host_that_is_full_is_told_by_its_status(pool: Pool) -> None:
    async with endless_host("503 Full") as (address, _):
        with pytest.raises(HostUnreachable, match="answered 503"):
            await push(pool, address)


@pytest.mark.parametrize(
    ("networks", "found", "reached"),
    [
        ((), "127.0.0.1", False),
        (LOOPBACK, "127.0.0.1", True),
        ((ip_network("10.0.0.0/8"),), "127.0.0.1", False),
        (LOOPBACK, "169.254.169.254", False),
    ],
)
async def test_h3_tasks_go_only_to_addresses_that_the_operator_allows(
    pool: Pool, networks: Sequence[Network], found: str, reached: bool
) -> None:
    """H3: the name is resolved once, so that it can't mean another address later."""
    asked: list[str] = []

    async def look_up(host: str, _: int) -> Sequence[Address]:
        asked.append(host)
        return [ip_address(found)]

    async with endless_host("202 Accepted") as (address, _):
        named = address.replace("127.0.0.1", "host.example")
        if reached:
            await push(pool, named, networks, look_up)
        else:
            with pytest.raises(HostUnreachable, match="judge_host_networks"):
                await push(pool, named, networks, look_up)
    assert asked == ["host.example"]
