"""A pool on a database of the test's own."""

from collections.abc import AsyncIterator

import pytest

from deemster.store.pool import Pool, open_pool


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    async with open_pool(database_url, name="test") as opened:
        yield opened
