"""Accounts with their passwords and API tokens; only hashes of these are stored (O6)."""

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from deemster.domain.account import ALL_SCOPES, Account, Role, Scope
from deemster.domain.errors import Conflict, NotFound
from deemster.domain.ids import ACCOUNT, TOKEN, AccountId, TokenId, new_id
from deemster.store.pool import Connection, rows_changed, statements

SQL = statements("accounts")
TOKEN_PREFIX: Final = "deem_"  # noqa: S105 - no secret
"""A leaked token can be recognised by it."""
MAX_TOKENS: Final = 100
"""Valid tokens per account."""


@dataclass(frozen=True, slots=True)
class AccountView:
    id: AccountId
    name: str
    role: Role
    created_at: datetime
    disabled: bool
    tier: int
    daily_quota: int | None
    has_password: bool


@dataclass(frozen=True, slots=True)
class AccountUpdate:
    """Fields that are None are not changed."""

    role: Role | None = None
    disabled: bool | None = None
    tier: int | None = None
    quota_given: bool = False
    """Whether `daily_quota` is set; None then means the default from the settings."""
    daily_quota: int | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Credentials:
    account: Account
    disabled: bool
    password: str | None
    """The argon2id hash."""


@dataclass(frozen=True, slots=True)
class TokenView:
    id: TokenId
    name: str
    scopes: frozenset[Scope]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked: bool
    expired: bool


@dataclass(frozen=True, slots=True)
class RevokedToken:
    account: AccountId
    view: TokenView
    digest: bytes
    was_valid: bool
    """False: the token had been revoked before."""


@dataclass(frozen=True, slots=True, repr=False)
class NewToken:
    view: TokenView
    secret: str
    """The token itself, which is not stored."""


async def add(connection: Connection, name: str, role: Role) -> Account:
    account = await add_if_name_is_free(connection, name, role)
    if account is None:
        raise Conflict(
            f"The account {name} exists already (case does not matter): choose another name."
        )
    return account


async def add_if_name_is_free(connection: Connection, name: str, role: Role) -> Account | None:
    """Returns None if the name is taken; case does not matter."""
    account = AccountId(new_id(ACCOUNT))
    done = rows_changed(await SQL.add(connection, id=account, name=name, role=role))
    return Account(account, name, role) if done else None


async def find_by_name(connection: Connection, name: str) -> Account | None:
    row = await SQL.find_by_name(connection, name=name)
    return Account(AccountId(row["id"]), row["name"], Role(row["role"])) if row else None


async def list_all(connection: Connection) -> list[AccountView]:
    return [view_from_row(row) async for row in SQL.list_all(connection)]


async def page(
    connection: Connection,
    *,
    before: AccountId | None,
    limit: int,
    role: Role | None = None,
    prefix: str | None = None,
) -> list[AccountView]:
    """Lists accounts, newest first."""
    rows = SQL.page(connection, before=before, limit=limit, role=role, prefix=prefix)
    return [view_from_row(row) async for row in rows]


async def get(connection: Connection, account: AccountId) -> AccountView | None:
    row = await SQL.get(connection, id=account)
    return view_from_row(row) if row else None


async def update(
    connection: Connection, account: AccountId, changes: AccountUpdate
) -> list[bytes]:
    """Disabling an account ends its sessions and tokens; returns their digests."""
    if changes.disabled or changes.role not in {None, Role.ADMIN}:
        await require_another_admin(connection, account)
    done = await SQL.update(
        connection,
        id=account,
        role=changes.role,
        tier=changes.tier,
        quota_given=changes.quota_given,
        daily_quota=changes.daily_quota,
        disabled=changes.disabled,
    )
    if not rows_changed(done):
        raise NotFound("The account does not exist.")
    if not changes.disabled:
        return []
    return [row["digest"] async for row in SQL.end_sessions_and_tokens(connection, id=account)]


async def require_another_admin(connection: Connection, going: AccountId) -> None:
    admins = [row["id"] async for row in SQL.lock_admins(connection)]
    if admins == [going]:
        raise Conflict(
            "This is the last admin, and one is needed: make another account admin first."
        )


async def credentials_by_name(connection: Connection, name: str) -> Credentials | None:
    return credentials_from_row(await SQL.credentials(connection, name=name, id=None))


async def credentials_by_id(connection: Connection, account: AccountId) -> Credentials | None:
    return credentials_from_row(await SQL.credentials(connection, name=None, id=account))


async def set_password(connection: Connection, account: AccountId, password: str) -> None:
    """Stores the hash; existing sessions go on."""
    await SQL.set_password(connection, id=account, password=password)


async def replace_password(
    connection: Connection, account: AccountId, *, old: str | None, password: str
) -> None:
    done = await SQL.replace_password(connection, id=account, old=old, password=password)
    if not rows_changed(done):
        raise Conflict("The password was changed by another request: log in again.")


async def rehash_password(
    connection: Connection, account: AccountId, *, old: str, password: str
) -> None:
    await SQL.rehash_password(connection, id=account, old=old, password=password)


async def add_token(
    connection: Connection,
    account: AccountId,
    name: str,
    *,
    days: int | None = None,
    scopes: frozenset[Scope] = ALL_SCOPES,
) -> str:
    """Returns the token itself, which is not stored."""
    made = await create_token(connection, account, name, days=days, scopes=scopes)
    return made.secret


async def create_token(
    connection: Connection,
    account: AccountId,
    name: str,
    *,
    days: int | None = None,
    scopes: frozenset[Scope] = ALL_SCOPES,
) -> NewToken:
    held = await SQL.lock_account(connection, id=account)
    if held is None:
        raise NotFound("The account does not exist.")
    if held["disabled_at"] is not None:
        raise Conflict(f"The account {held['name']} is disabled: enable it first.")
    if await SQL.count_valid_tokens(connection, account=account) >= MAX_TOKENS:
        raise Conflict(f"An account may have {MAX_TOKENS} valid tokens: revoke one first.")
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    row = await SQL.add_token(
        connection,
        id=new_id(TOKEN),
        account=account,
        name=name,
        digest=token_digest(secret),
        days=days,
        scopes=sorted(scopes),
    )
    return NewToken(token_view_from_row(row), secret)


async def token_page(
    connection: Connection, account: AccountId, *, before: TokenId | None, limit: int
) -> list[TokenView]:
    """Lists tokens, newest first, including those that are revoked or expired."""
    rows = SQL.token_page(connection, account=account, before=before, limit=limit)
    return [token_view_from_row(row) async for row in rows]


async def revoke_token(
    connection: Connection, token: TokenId, *, account: AccountId | None = None
) -> RevokedToken | None:
    """Returns None if the account has no such token; without an account, any may have it."""
    row = await SQL.revoke_token(connection, id=token, account=account)
    if row is None:
        return None
    return RevokedToken(
        AccountId(row["account_id"]), token_view_from_row(row), row["digest"], row["was_valid"]
    )


async def find_by_token(connection: Connection, token: str) -> Account | None:
    return await find_by_token_digest(connection, token_digest(token))


async def find_by_token_digest(connection: Connection, digest: bytes) -> Account | None:
    row = await SQL.find_by_token_digest(connection, digest=digest)
    if row is None:
        return None
    return account_from_row(
        row, TokenId(row["token_id"]), scopes=frozenset(map(Scope, row["scopes"]))
    )


async def mark_tokens_used(connection: Connection, tokens: Iterable[TokenId]) -> None:
    await SQL.mark_tokens_used(connection, ids=list(tokens))


def token_digest(token: str) -> bytes:
    """A plain hash is enough: tokens are long and random, so none can be guessed."""
    return hashlib.sha256(token.encode()).digest()


def account_from_row(
    row: Any, token: TokenId | None = None, scopes: frozenset[Scope] = ALL_SCOPES
) -> Account:
    return Account(
        AccountId(row["id"]),
        row["name"],
        Role(row["role"]),
        token,
        scopes,
        row["tier"],
        row["daily_quota"],
    )


def view_from_row(row: Any) -> AccountView:
    return AccountView(
        id=AccountId(row["id"]),
        name=row["name"],
        role=Role(row["role"]),
        created_at=row["created_at"],
        disabled=row["disabled_at"] is not None,
        tier=row["tier"],
        daily_quota=row["daily_quota"],
        has_password=row["has_password"],
    )


def credentials_from_row(row: Any) -> Credentials | None:
    if row is None:
        return None
    account = Account(AccountId(row["id"]), row["name"], Role(row["role"]))
    return Credentials(account, row["disabled_at"] is not None, row["password"])


def token_view_from_row(row: Any) -> TokenView:
    return TokenView(
        id=TokenId(row["id"]),
        name=row["name"],
        scopes=frozenset(map(Scope, row["scopes"])),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        last_used_at=row["last_used_at"],
        revoked=row["revoked_at"] is not None,
        expired=row["expired"],
    )
