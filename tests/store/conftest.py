"""Tells what the connections of a test wait for."""

from deemster.store.pool import Pool, connection


async def is_waiting_for_a_lock(pool: Pool) -> bool:
    async with connection(pool) as acquired:
        return bool(
            await acquired.fetchval(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
        )
