"""Applies the migrations that a database is missing, in order; there is no way back."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import asyncpg

from deemster.domain.errors import Refused
from deemster.store.grants import grant_rows
from deemster.store.pool import OwnConnection, connect, outages_as_errors

HERE = Path(__file__).parent
LOCK: Final = 0x6465656D
"""Advisory lock: of several processes that start at the same time, one migrates (O5)."""
OLDEST_SERVER: Final = 14
RECORD = """
CREATE TABLE IF NOT EXISTS migration (
    version    integer PRIMARY KEY,
    name       text NOT NULL,
    digest     text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
)"""


@dataclass(frozen=True, slots=True)
class Migration:
    version: int
    name: str
    sql: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


def shipped() -> list[Migration]:
    """Lists this version's migrations in order; their files are named `0001_what.sql`."""
    files = sorted(HERE.glob("[0-9]*.sql"))
    return [
        Migration(int(file.stem.split("_")[0]), file.stem, file.read_text(encoding="utf-8"))
        for file in files
    ]


async def migrate(
    url: str, *, dry_run: bool = False, application: str | None = None
) -> list[Migration]:
    """Applies what is missing in one transaction; returns what that was, or would be.

    `application` is the role of the service, if another role migrates: it gets access to rows.
    """
    connection = await connect(url)
    try:
        with outages_as_errors():
            async with connection.transaction():
                await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK)
                missing = await find_missing(connection, shipped())
                if not dry_run:
                    await apply(connection, missing)
                    if application is not None:
                        await grant_rows(connection, application)
        return missing
    finally:
        await connection.close()


async def find_missing(
    connection: OwnConnection, known: Sequence[Migration]
) -> list[Migration]:
    server = connection.get_server_version()
    if server.major < OLDEST_SERVER:
        raise Refused(
            f"The server is PostgreSQL {server.major}: use PostgreSQL {OLDEST_SERVER} or newer."
        )
    if not await connection.fetchval("SELECT to_regclass('migration')"):
        return list(known)
    rows = await connection.fetch("SELECT version, digest FROM migration")
    applied = {row["version"]: row["digest"] for row in rows}
    newest = max(applied, default=0)
    if newest > known[-1].version:
        raise Refused(
            f"The database was made by a newer Deemster (version {newest} of its tables, this "
            f"one knows {known[-1].version}): start the newer one, or restore a backup."
        )
    for each in known:
        if applied.get(each.version, each.digest) != each.digest:
            raise Refused(
                f"The database's tables come from another migration {each.name} than this "
                "version ships: restore a backup, or start with an empty database."
            )
    return [each for each in known if each.version not in applied]


async def apply(connection: OwnConnection, missing: Sequence[Migration]) -> None:
    await connection.execute(RECORD)
    for each in missing:
        try:
            await connection.execute(each.sql)
        except asyncpg.RaiseError as fault:
            # The migration's own message says what the operator must decide.
            raise Refused(f"{each.name}: {fault}") from fault
        await connection.execute(
            "INSERT INTO migration (version, name, digest) VALUES ($1, $2, $3)",
            each.version,
            each.name,
            each.digest,
        )
