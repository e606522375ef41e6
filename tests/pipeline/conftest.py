"""A pool on the test's own database."""

from collections.abc import AsyncIterator

import pytest

from deemster.store.pool import Pool, open_pool


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    async with open_pool(database_url, name="test", max_size=20) as opened:
        yield opened
