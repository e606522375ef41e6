"""Single values of an installation: the secret key's fingerprint, and versions for caches."""

from deemster.domain.errors import Refused
from deemster.store.pool import Connection, statements

SQL = statements("installation")
SECRET = "secret_fingerprint"  # noqa: S105 - a value's name


async def check_secret(connection: Connection, fingerprint: str) -> None:
    """Refuses a secret that is not the one this database was first used with."""
    if await SQL.set_once(connection, name=SECRET, value=fingerprint) != fingerprint:
        raise Refused(
            "This secret key is not the one that this database was set up with: give every "
            "machine the same DEEMSTER_SECRET_KEY, or copy secret.key to its data directory."
        )


async def version(connection: Connection, name: str) -> int:
    """How often the named data was changed, for cache keys (C1)."""
    return int(await SQL.get(connection, name=f"revision {name}") or 0)


async def bump_version(connection: Connection, name: str) -> None:
    await SQL.bump_version(connection, name=f"revision {name}")
