"""Idempotency keys with the responses they got, so that a repeated POST acts once (I1, I2)."""

from dataclasses import dataclass

from deemster.domain.errors import Refused
from deemster.domain.ids import AccountId
from deemster.store.pool import Connection, rows_changed, statements

SQL = statements("idempotency_keys")


class KeyReused(Refused):
    """The key was used before with another request (I2)."""

    code = "idempotency_key_reused"

    def __init__(
        self,
        message: str = "This Idempotency-Key was used before with another request: send the "
        "same request again, or a new key.",
    ) -> None:
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class StoredResponse:
    status: int
    location: str | None
    sealed: bytes
    """The encrypted body."""


async def claim(
    connection: Connection, account: AccountId, key: str, digest: bytes
) -> StoredResponse | None:
    """Returns None if the key is new: this transaction must then store its response.

    A second request with the same key waits here until the first one's transaction has ended.
    """
    if rows_changed(await SQL.claim(connection, account=account, key=key, digest=digest)):
        return None
    stored = await find(connection, account, key, digest)
    assert stored is not None, "keys are never deleted"
    return stored


async def find(
    connection: Connection, account: AccountId, key: str, digest: bytes
) -> StoredResponse | None:
    row = await SQL.find(connection, account=account, key=key)
    if row is None:
        return None
    if row["request_digest"] != digest:
        raise KeyReused
    return StoredResponse(row["status"], row["location"], row["sealed"])


async def store_response(
    connection: Connection, account: AccountId, key: str, response: StoredResponse
) -> None:
    await SQL.store_response(
        connection,
        account=account,
        key=key,
        status=response.status,
        location=response.location,
        sealed=response.sealed,
    )
