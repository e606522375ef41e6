"""Single facts of an installation: the first word said holds."""

from deemster.domain.errors import Refused
from deemster.store.pool import Connection
from deemster.store.queries import statements

SQL = statements("installation")
SECRET = "secret_fingerprint"  # noqa: S105 - a fact's name


async def check_secret(connection: Connection, fingerprint: str) -> None:
    """Refuses a secret that is not the one this database was first used with."""
    if await SQL.set_once(connection, name=SECRET, value=fingerprint) != fingerprint:
        raise Refused(
            "This secret key is not the one that this database was set up with: give every "
            "machine the same DEEMSTER_SECRET_KEY, or the same secret.key in its data folder."
        )


async def version(connection: Connection, name: str) -> int:
    """How often something that is cached was changed."""
    return int(await SQL.get(connection, name=f"revision {name}") or 0)


async def bump_version(connection: Connection, name: str) -> None:
    """What was cached of it is not looked at any more, once this transaction is done (C1)."""
    await SQL.bump_version(connection, name=f"revision {name}")
