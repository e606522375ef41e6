"""A pool on a database of the test's own."""

from collections.abc import AsyncIterator

import pytest

from deemster.store.pool import Pool, connection, open_pool


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    async with open_pool(database_url, name="test") as opened:
        yield opened


async def is_waiting_for_a_lock(pool: Pool) -> bool:
    async with connection(pool) as acquired:
        return bool(
            await acquired.fetchval(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
        )
