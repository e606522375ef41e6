"""Opens the database and the artifact store that a backup reads or a restore replaces."""

from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from deemster.domain.errors import Refused
from deemster.settings import Settings
from deemster.store.artifacts.artifacts import open_backend
from deemster.store.artifacts.backend import ArtifactBackend
from deemster.store.data_lock import lock_data_dir
from deemster.store.embedded import run_cluster, running_url
from deemster.store.pool import Connection, connect, statements

SQL = statements("backup")
TIMEOUT_S: Final = 60.0
DROP_EVERYTHING: Final = """
DO $drop$
DECLARE
    statement text;
BEGIN
    FOREACH statement IN ARRAY (
        SELECT COALESCE(array_agg(d.statement ORDER BY d.position), '{}') FROM (
        SELECT format('DROP %s IF EXISTS %s CASCADE',
                      CASE c.relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW'
                                     WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END,
                      c.oid::regclass) AS statement,
               -- Tables take the sequences of their own columns with them.
               CASE c.relkind WHEN 'S' THEN 1 ELSE 0 END AS position
          FROM pg_catalog.pg_class c
         WHERE c.relnamespace = 'public'::regnamespace
           AND c.relkind IN ('r', 'p', 'v', 'm', 'S')
         UNION ALL
        SELECT format('DROP ROUTINE IF EXISTS %s CASCADE', p.oid::regprocedure), 2
          FROM pg_catalog.pg_proc p
         WHERE p.pronamespace = 'public'::regnamespace
           AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend e
                            WHERE e.objid = p.oid AND e.deptype = 'e')
    ) d)
    LOOP
        EXECUTE statement;
    END LOOP;
END
$drop$;
"""
"""For psql, before a backup is loaded. The schema stays: up to Postgres 14, the owner of a
database does not own it. Jobs left in a queue find no row, and end."""


@asynccontextmanager
async def readable_database(settings: Settings) -> AsyncIterator[str]:
    """Yields the URL of the database; starts the embedded one if it isn't running."""
    if (own := owner_url(settings)) is not None:
        yield own
        return
    running = running_url(settings.data_dir)
    if running is not None:
        yield running
        return
    if not (settings.data_dir / "postgres" / "cluster").exists():
        raise Refused(
            f"There is no database in {settings.data_dir}: name the data directory with "
            "DEEMSTER_DATA_DIR, or your own Postgres with DEEMSTER_DATABASE_URL."
        )
    with lock_data_dir(settings.data_dir, "`deemster backup`"):
        async with run_cluster(settings.data_dir) as cluster:
            yield cluster.url


@asynccontextmanager
async def writable_database(settings: Settings) -> AsyncIterator[str]:
    """Yields the same, and locks the data directory: no service may run on it meanwhile."""
    async with AsyncExitStack() as stack:
        stack.enter_context(lock_data_dir(settings.data_dir, "`deemster restore`"))
        if (own := owner_url(settings)) is not None:
            yield own
            return
        cluster = await stack.enter_async_context(run_cluster(settings.data_dir))
        yield cluster.url


def owner_url(settings: Settings) -> str | None:
    """The operator's database, as the role that owns its tables; None: it is embedded."""
    given = settings.migration_database_url or settings.database_url
    return given.get_secret_value() if given is not None else None


async def prepare_restore(url: str, *, force: bool) -> str:
    """Returns the SQL that empties the database; refuses if it is in use or not empty."""
    async with connected(url) as connection:
        is_empty = not await SQL.count_tables(connection)
        if not is_empty and not force:
            raise Refused(
                "The database is not empty: use --force to delete its content, or restore into "
                "an empty one, which DEEMSTER_DATA_DIR or DEEMSTER_DATABASE_URL names."
            )
        if others := [row["name"] async for row in SQL.connected_processes(connection)]:
            raise Refused(
                f"The database is in use by {', '.join(others)}: stop these processes first."
            )
    return "" if is_empty else DROP_EVERYTHING


async def known_settings(url: str) -> frozenset[str]:
    """The names of all settings that the server has."""
    async with connected(url) as connection:
        return frozenset([row["name"] async for row in SQL.list_settings(connection)])


async def missing_artifacts(url: str, present: Collection[str]) -> list[str]:
    """Digests of sources and judgements that rows refer to, and that are nowhere."""
    async with connected(url) as connection:
        rows = SQL.list_missing_artifacts(connection, present=list(present))
        return [row["digest"] async for row in rows]


async def newest_migration(url: str) -> int:
    async with connected(url) as connection:
        return int(await SQL.newest_migration(connection))


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Connection]:
    connection = await connect(url)
    try:
        yield connection
    finally:
        await connection.close()


def open_artifacts(settings: Settings) -> ArtifactBackend:
    url = settings.artifacts_url.get_secret_value() if settings.artifacts_url else None
    return open_backend(url, settings.data_dir, TIMEOUT_S)
