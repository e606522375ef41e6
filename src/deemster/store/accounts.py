"""Accounts and their tokens, of which only a hash is kept (O6)."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from deemster.domain.account import ALL_SCOPES, Account, Role, Scope
from deemster.domain.errors import Refused
from deemster.domain.ids import ACCOUNT, TOKEN, AccountId, TokenId, new_id
from deemster.store.named import changed, statements
from deemster.store.pool import Connection

SQL = statements("accounts")
TOKEN_PREFIX: Final = "deem_"  # noqa: S105 - no secret
"""So that a leaked one is known for what it is."""


@dataclass(frozen=True, slots=True)
class AccountView:
    id: AccountId
    name: str
    role: Role
    created_at: datetime
    disabled: bool


async def add(connection: Connection, name: str, role: Role) -> Account:
    account = AccountId(new_id(ACCOUNT))
    if not changed(await SQL.add(connection, id=account, name=name, role=role)):
        raise Refused(f"There is an account {name} already: choose another name.")
    return Account(account, name, role)


async def of_name(connection: Connection, name: str) -> Account | None:
    row = await SQL.of_name(connection, name=name)
    return Account(AccountId(row["id"]), row["name"], Role(row["role"])) if row else None


async def everyone(connection: Connection) -> list[AccountView]:
    return [
        AccountView(
            AccountId(row["id"]),
            row["name"],
            Role(row["role"]),
            row["created_at"],
            row["disabled_at"] is not None,
        )
        async for row in SQL.page(connection)
    ]


async def add_token(
    connection: Connection,
    account: AccountId,
    name: str,
    *,
    days: int | None = None,
    scopes: frozenset[Scope] = ALL_SCOPES,
) -> str:
    """The token itself: it is shown now and never again."""
    token = TOKEN_PREFIX + secrets.token_urlsafe(32)
    await SQL.add_token(
        connection,
        id=new_id(TOKEN),
        account=account,
        name=name,
        digest=token_digest(token),
        days=days,
        scopes=sorted(scopes),
    )
    return token


async def of_token(connection: Connection, token: str) -> Account | None:
    return await of_digest(connection, token_digest(token))


async def of_digest(connection: Connection, digest: bytes) -> Account | None:
    """By the hash of a token, for those who don't keep the token itself."""
    row = await SQL.of_token(connection, digest=digest)
    if row is None:
        return None
    return Account(
        AccountId(row["id"]),
        row["name"],
        Role(row["role"]),
        TokenId(row["token_id"]),
        frozenset(map(Scope, row["scopes"])),
        row["tier"],
        row["daily_quota"],
    )


async def mark_used(connection: Connection, token: TokenId) -> None:
    await SQL.used(connection, id=token)


def token_digest(token: str) -> bytes:
    """A token is long and random: a plain hash can't be turned round."""
    return hashlib.sha256(token.encode()).digest()
