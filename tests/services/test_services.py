"""What other tests rely on: real servers, apart for each test, gone after the run."""

import asyncpg
import pytest
import redis.asyncio as redis_client

from deemster.store.pool import Pool
from tests.builders import make_account


@pytest.mark.parametrize("turn", range(6))
async def test_each_test_has_a_migrated_database_of_its_own(
    database_url: str, turn: int
) -> None:
    connection = await asyncpg.connect(database_url)
    assert await connection.fetchval("SELECT count(*) FROM migration") > 0
    assert await connection.fetchval("SELECT to_regclass('only_here')") is None
    await connection.execute("CREATE TABLE only_here (turn integer)")
    await connection.close()


@pytest.mark.parametrize("turn", range(3))
async def test_a_kept_pool_has_nothing_of_the_test_before(pool: Pool, turn: int) -> None:
    """Also if that left a connection in a transaction."""
    never_released = await pool.acquire()
    await never_released.execute("BEGIN")
    assert await never_released.fetchval("SELECT count(*) FROM account") == 0
    await make_account(pool)


async def test_a_queue_store_of_each_kind_is_there(queue_url: str, queue_env: str) -> None:
    if queue_url.startswith("redis://"):
        async with redis_client.from_url(queue_url) as client:
            assert await client.set(queue_env, "here")
            assert await client.delete(queue_env) == 1
    else:
        connection = await asyncpg.connect(queue_url)
        assert await connection.fetchval("SELECT 1") == 1
        await connection.close()
