"""A process that ends closes its streams and does not wait for clients."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from deemster.store.pool import Pool
from deemster.wiring.address import Address
from deemster.wiring.forked_process import ForkedProcess
from tests.api.conftest import make_user
from tests.api.feed.event_client import EventClient
from tests.services.api import api_process
from tests.waiting import PATIENCE_S

Api = tuple[Address, ForkedProcess]


@pytest.fixture
async def api(
    tmp_path: Path, database_url: str, redis_url: str, queue_env: str
) -> AsyncIterator[Api]:
    async with api_process(tmp_path, database_url, redis_url, queue_env) as started:
        yield started


async def test_sigterm_ends_streams_cleanly(api: Api, pool: Pool) -> None:
    """A response that is cut off has no end, which httpx reports as an error."""
    address, process = api
    user = await make_user(pool, "ada")
    async with (
        httpx.AsyncClient(timeout=PATIENCE_S, headers=user.headers, verify=False) as client,
        client.stream("GET", f"{address.url}/v1/events") as answer,
    ):
        assert answer.status_code == 200
        stream_client = EventClient(answer)
        assert await stream_client.block()
        process.send_signal(signal.SIGTERM)
        assert await stream_client.rest() == []
    assert await process.wait() == 0


async def test_the_process_raises_its_limit_of_open_files(api: Api) -> None:
    _, process = api
    limits = await asyncio.to_thread(Path(f"/proc/{process.pid}/limits").read_text)
    [line] = [each for each in limits.splitlines() if each.startswith("Max open files")]
    soft, hard = line.split()[3:5]
    assert soft == hard
