"""What is in a database before it is backed up or restored, and who uses it."""

from typing import Final

from deemster.store.pool import Connection
from deemster.store.queries import statements

SQL = statements("preflight")
MAKE_ROOM: Final = "DROP SCHEMA public CASCADE; CREATE SCHEMA public;"
"""For psql, before a backup is loaded. Jobs that are left in a queue find no row, and end."""


async def is_empty(connection: Connection) -> bool:
    return not await SQL.count_tables(connection)


async def users(connection: Connection) -> list[str]:
    """The names of our own processes that have connections there."""
    return [row["name"] async for row in SQL.connected_processes(connection)]


async def newest_migration(connection: Connection) -> int:
    return int(await SQL.newest_migration(connection))
