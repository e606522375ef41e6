"""Keys of requests that make something, with the answers they got (I1, I2)."""

from dataclasses import dataclass

from deemster.domain.ids import AccountId
from deemster.store.pool import Connection
from deemster.store.queries import changed, statements
from deemster.store.submission_inserts import KeyReused

SQL = statements("idempotency_keys")


@dataclass(frozen=True, slots=True)
class Kept:
    status: int
    location: str | None
    sealed: bytes


async def claim(
    connection: Connection, account: AccountId, key: str, digest: bytes
) -> Kept | None:
    """None: the key is ours, and this transaction is to `keep` its answer."""
    if changed(await SQL.claim(connection, account=account, key=key, digest=digest)):
        return None
    kept = await find(connection, account, key, digest)
    assert kept is not None, "keys are never given back"
    return kept


async def find(
    connection: Connection, account: AccountId, key: str, digest: bytes
) -> Kept | None:
    """None: the key is new."""
    row = await SQL.kept(connection, account=account, key=key)
    if row is None:
        return None
    if row["request_digest"] != digest:
        raise KeyReused
    return Kept(row["status"], row["location"], row["sealed"])


async def keep(connection: Connection, account: AccountId, key: str, kept: Kept) -> None:
    await SQL.keep(
        connection,
        account=account,
        key=key,
        status=kept.status,
        location=kept.location,
        sealed=kept.sealed,
    )
