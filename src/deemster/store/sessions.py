"""Log-in sessions; only the hash of the cookie is stored (O6)."""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from deemster.domain.account import Account
from deemster.domain.ids import AccountId
from deemster.store.accounts import account_from_row, token_digest
from deemster.store.pool import Connection, statements

SQL = statements("sessions")


@dataclass(frozen=True, slots=True, repr=False)
class NewSession:
    secret: str
    """The value of the cookie, which is not stored."""
    expires_at: datetime

    @property
    def digest(self) -> bytes:
        return token_digest(self.secret)


async def begin(
    connection: Connection, account: AccountId, *, keep_s: float, password: str | None = None
) -> NewSession | None:
    """Returns None if the account was disabled, or its password hash is not `password`."""
    secret = secrets.token_urlsafe(32)
    expires_at = await SQL.begin(
        connection,
        digest=token_digest(secret),
        account=account,
        keep_s=keep_s,
        password=password,
    )
    # Each log-in deletes some expired sessions, so that they don't pile up.
    await SQL.trim(connection)
    return NewSession(secret, expires_at) if expires_at is not None else None


async def find_account(connection: Connection, digest: bytes) -> Account | None:
    row = await SQL.find_account(connection, digest=digest)
    return account_from_row(row) if row else None


async def mark_seen(connection: Connection, digests: Iterable[bytes], *, keep_s: float) -> None:
    await SQL.mark_seen(connection, digests=list(digests), keep_s=keep_s)


async def end(connection: Connection, digest: bytes) -> None:
    await SQL.end(connection, digest=digest)


async def end_all(
    connection: Connection, account: AccountId, *, except_digest: bytes | None = None
) -> list[bytes]:
    """Returns the digests of the sessions that ended."""
    return [
        row["digest"]
        async for row in SQL.end_all(connection, account=account, except_digest=except_digest)
    ]
