"""Keys of requests that make something, with the answers they got (I1, I2)."""

from dataclasses import dataclass

from deemster.domain.ids import AccountId
from deemster.store.pool import Connection
from deemster.store.queries import rows_changed, statements
from deemster.store.submission_inserts import KeyReused

SQL = statements("idempotency_keys")


@dataclass(frozen=True, slots=True)
class StoredResponse:
    status: int
    location: str | None
    sealed: bytes


async def claim(
    connection: Connection, account: AccountId, key: str, digest: bytes
) -> StoredResponse | None:
    """None: the key is ours, and this transaction is to `keep` its answer."""
    if rows_changed(await SQL.claim(connection, account=account, key=key, digest=digest)):
        return None
    kept = await find(connection, account, key, digest)
    assert kept is not None, "keys are never given back"
    return kept


async def find(
    connection: Connection, account: AccountId, key: str, digest: bytes
) -> StoredResponse | None:
    """None: the key is new."""
    row = await SQL.find(connection, account=account, key=key)
    if row is None:
        return None
    if row["request_digest"] != digest:
        raise KeyReused
    return StoredResponse(row["status"], row["location"], row["sealed"])


async def store_response(
    connection: Connection, account: AccountId, key: str, kept: StoredResponse
) -> None:
    await SQL.store_response(
        connection,
        account=account,
        key=key,
        status=kept.status,
        location=kept.location,
        sealed=kept.sealed,
    )
