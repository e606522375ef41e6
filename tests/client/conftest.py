"""A running API for clients."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from deemster.store.pool import Pool
from deemster.wiring.address import Address
from tests.client.servers import make_token
from tests.services.api import api_process


@pytest.fixture
async def api(
    tmp_path: Path, database_url: str, redis_url: str, queue_env: str
) -> AsyncIterator[Address]:
    async with api_process(tmp_path, database_url, redis_url, queue_env) as (address, _):
        yield address


@pytest.fixture
async def token(pool: Pool) -> str:
    """Of a user who is no admin."""
    return await make_token(pool)
