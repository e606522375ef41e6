"""Accounts, their passwords and their tokens, of which only hashes are kept (O6)."""

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from deemster.domain.account import ALL_SCOPES, Account, Role, Scope
from deemster.domain.errors import Conflict, NotFound
from deemster.domain.ids import ACCOUNT, TOKEN, AccountId, TokenId, new_id
from deemster.store.pool import Connection
from deemster.store.queries import rows_changed, statements

SQL = statements("accounts")
TOKEN_PREFIX: Final = "deem_"  # noqa: S105 - no secret
"""So that a leaked one is known for what it is."""
MAX_TOKENS: Final = 100
"""Good ones of one account."""


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
    """What is None stays as it is."""

    role: Role | None = None
    disabled: bool | None = None
    tier: int | None = None
    quota_given: bool = False
    daily_quota: int | None = None
    """None, when it is given: that of the settings."""


@dataclass(frozen=True, slots=True, repr=False)
class Credentials:
    account: Account
    disabled: bool
    password: str | None
    """Its argon2id hash."""


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
    was_good: bool
    """False: it was revoked before."""


@dataclass(frozen=True, slots=True, repr=False)
class NewToken:
    view: TokenView
    secret: str
    """It is shown now and never again."""


async def add(connection: Connection, name: str, role: Role) -> Account:
    account = await add_if_name_is_free(connection, name, role)
    if account is None:
        raise Conflict(
            f"There is an account {name} already, in this or another case: choose another name."
        )
    return account


async def add_if_name_is_free(connection: Connection, name: str, role: Role) -> Account | None:
    """None: the name is taken, in this or another case."""
    account = AccountId(new_id(ACCOUNT))
    done = rows_changed(await SQL.add(connection, id=account, name=name, role=role))
    return Account(account, name, role) if done else None


async def find_by_name(connection: Connection, name: str) -> Account | None:
    """In whatever case it is written."""
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
    """Newest first."""
    rows = SQL.page(connection, before=before, limit=limit, role=role, prefix=prefix)
    return [view_from_row(row) async for row in rows]


async def get(connection: Connection, account: AccountId) -> AccountView | None:
    row = await SQL.get(connection, id=account)
    return view_from_row(row) if row else None


async def update(
    connection: Connection, account: AccountId, wanted: AccountUpdate
) -> list[bytes]:
    """Who is disabled loses log-ins and tokens: the hashes of those that ended with it."""
    if wanted.disabled or wanted.role not in {None, Role.ADMIN}:
        await require_another_admin(connection, account)
    done = await SQL.update(
        connection,
        id=account,
        role=wanted.role,
        tier=wanted.tier,
        quota_given=wanted.quota_given,
        daily_quota=wanted.daily_quota,
        disabled=wanted.disabled,
    )
    if not rows_changed(done):
        raise NotFound("There is no such account.")
    if not wanted.disabled:
        return []
    return [row["digest"] async for row in SQL.end_sessions_and_tokens(connection, id=account)]


async def require_another_admin(connection: Connection, going: AccountId) -> None:
    admins = [row["id"] async for row in SQL.lock_admins(connection)]
    if admins == [going]:
        raise Conflict("This is the last admin, and there must be one: make another first.")


async def credentials_by_name(connection: Connection, name: str) -> Credentials | None:
    """In whatever case it is written."""
    return credentials_from_row(await SQL.credentials_by_name(connection, name=name, id=None))


async def credentials_by_id(connection: Connection, account: AccountId) -> Credentials | None:
    return credentials_from_row(
        await SQL.credentials_by_name(connection, name=None, id=account)
    )


async def set_password(connection: Connection, account: AccountId, password: str) -> None:
    """Its hash; who was logged in stays so, unless the caller sees to that too."""
    await SQL.set_password(connection, id=account, password=password)


async def replace_password(
    connection: Connection, account: AccountId, *, old: str | None, password: str
) -> None:
    done = await SQL.replace_password(connection, id=account, old=old, password=password)
    if not rows_changed(done):
        raise Conflict("The password was changed meanwhile: log in anew.")


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
    """The token itself: it is shown now and never again."""
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
        raise NotFound("There is no such account.")
    if held["disabled_at"] is not None:
        raise Conflict(f"The account {held['name']} is disabled: enable it first.")
    if await SQL.count_valid_tokens(connection, account=account) >= MAX_TOKENS:
        raise Conflict(f"An account has up to {MAX_TOKENS} tokens: revoke one first.")
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
    """Newest first, also those that are no good any more."""
    rows = SQL.token_page(connection, account=account, before=before, limit=limit)
    return [token_view_from_row(row) async for row in rows]


async def revoke_token(
    connection: Connection, token: TokenId, *, account: AccountId | None = None
) -> RevokedToken | None:
    """Of that account; None: whoever's it is. None back: there is no such token."""
    row = await SQL.revoke_token(connection, id=token, account=account)
    if row is None:
        return None
    return RevokedToken(
        AccountId(row["account_id"]), token_view_from_row(row), row["digest"], row["was_good"]
    )


async def find_by_token(connection: Connection, token: str) -> Account | None:
    return await find_by_token_digest(connection, token_digest(token))


async def find_by_token_digest(connection: Connection, digest: bytes) -> Account | None:
    """By the hash of a token, for those who don't keep the token itself."""
    row = await SQL.find_by_token_digest(connection, digest=digest)
    if row is None:
        return None
    return account_from_row(
        row, TokenId(row["token_id"]), scopes=frozenset(map(Scope, row["scopes"]))
    )


async def mark_tokens_used(connection: Connection, tokens: Iterable[TokenId]) -> None:
    await SQL.mark_tokens_used(connection, ids=list(tokens))


def token_digest(token: str) -> bytes:
    """A token is long and random: a plain hash can't be turned round."""
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
