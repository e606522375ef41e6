"""Access keys of heng clients, and the nonces of their requests (M6)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from deemster.domain.account import Account, Role
from deemster.domain.errors import NotFound
from deemster.domain.ids import HENG_ACCESS_KEY, AccountId, HengAccessKey, new_id
from deemster.store.pool import Connection, statements

SQL = statements("heng")
NONCE_KEPT_S: Final = 120.0
"""Twice the time for which a request is valid, because clocks may differ both ways."""


@dataclass(frozen=True, slots=True)
class AccessKeyView:
    id: HengAccessKey
    name: str
    created_at: datetime
    revoked: bool


@dataclass(frozen=True, slots=True)
class KeyOwner:
    account: Account
    age_s: float
    """Seconds since the request was signed; below 0 if the client's clock is ahead."""


async def add_key(connection: Connection, account: AccountId, name: str) -> AccessKeyView:
    row = await SQL.add_key(connection, id=new_id(HENG_ACCESS_KEY), account=account, name=name)
    return view_from_row(row)


async def key_page(
    connection: Connection, account: AccountId, *, before: HengAccessKey | None, limit: int
) -> list[AccessKeyView]:
    """Lists keys, newest first."""
    rows = SQL.key_page(connection, account=account, before=before, limit=limit)
    return [view_from_row(row) async for row in rows]


async def revoke_key(
    connection: Connection, account: AccountId, key: str
) -> tuple[AccessKeyView, bool]:
    """Also returns whether the key was valid before."""
    row = await SQL.revoke_key(connection, account=account, id=key)
    if row is None:
        raise NotFound("There is no such access key: see the list of access keys.")
    return view_from_row(row), row["was_valid"]


async def find_key(connection: Connection, key: str, signed_at: float) -> KeyOwner | None:
    """Returns None if the key is unknown or revoked, or its account is disabled."""
    row = await SQL.find_key(connection, id=key, signed_at=signed_at)
    if row is None:
        return None
    account = Account(
        AccountId(row["id"]),
        row["name"],
        Role(row["role"]),
        tier=row["tier"],
        daily_quota=row["daily_quota"],
    )
    return KeyOwner(account, row["age_s"])


async def use_nonce(connection: Connection, key: HengAccessKey, nonce: str) -> bool:
    """Returns False if the key has used the nonce in the last two minutes."""
    done = await SQL.use_nonce(connection, access_key=key, nonce=nonce, kept_s=NONCE_KEPT_S)
    return bool(done)


async def trim_nonces(connection: Connection) -> None:
    await SQL.trim_nonces(connection, kept_s=NONCE_KEPT_S)


def view_from_row(row: Any) -> AccessKeyView:
    return AccessKeyView(
        HengAccessKey(row["id"]), row["name"], row["created_at"], row["revoked_at"] is not None
    )
