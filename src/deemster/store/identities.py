"""Links the subject of an OpenID Connect issuer to an account (O6)."""

from dataclasses import dataclass

from deemster.domain.account import Account
from deemster.domain.ids import AccountId
from deemster.store.accounts import account_from_row
from deemster.store.pool import Connection, statements

SQL = statements("identities")


@dataclass(frozen=True, slots=True)
class LinkedAccount:
    account: Account
    disabled: bool
    newest_iat: float | None
    """When the issuer made the newest token that was seen, in seconds since the epoch."""


async def lock(connection: Connection, issuer: str, subject: str) -> None:
    """Until the transaction ends, no other request creates an account for this subject."""
    await SQL.lock(connection, issuer=issuer, subject=subject)


async def find(connection: Connection, issuer: str, subject: str) -> LinkedAccount | None:
    row = await SQL.find(connection, issuer=issuer, subject=subject)
    if row is None:
        return None
    disabled = row["disabled_at"] is not None
    return LinkedAccount(account_from_row(row), disabled, row["newest_iat"])


async def add(
    connection: Connection,
    issuer: str,
    subject: str,
    account: AccountId,
    *,
    iat: float | None = None,
) -> None:
    await SQL.add(connection, issuer=issuer, subject=subject, account=account, iat=iat)


async def update_newest_iat(
    connection: Connection, issuer: str, subject: str, iat: float
) -> None:
    await SQL.update_newest_iat(connection, issuer=issuer, subject=subject, iat=iat)
