"""What `deemster user` does to accounts: each deed in one transaction, and on the record."""

from deemster.api.auth.passwords import hash_password
from deemster.domain.account import Account, Role, Scope, check_name
from deemster.domain.errors import NotFound
from deemster.domain.ids import TokenId
from deemster.settings import load_settings
from deemster.store import accounts, sessions
from deemster.store.accounts import AccountUpdate, AccountView, TokenView
from deemster.store.audit import Actor, record
from deemster.store.pool import Connection, connection, transaction
from deemster.wiring.resources import open_command_database, operator

MOST_SHOWN = 1000


async def add(name: str, role: Role) -> Account:
    check_name(name)
    async with open_command_database(load_settings()) as pool, transaction(pool) as acquired:
        account = await accounts.add(acquired, name, role)
        await record(acquired, actor(), "user.add", account.id, name=name, role=role)
        return account


async def everyone() -> list[AccountView]:
    async with open_command_database(load_settings()) as pool, connection(pool) as acquired:
        return await accounts.list_all(acquired)


async def change(name: str, *, role: Role | None = None, disabled: bool | None = None) -> str:
    """The name as its owner writes it."""
    async with open_command_database(load_settings()) as pool, transaction(pool) as acquired:
        account = await named(acquired, name)
        await accounts.update(acquired, account.id, AccountUpdate(role=role, disabled=disabled))
        wanted = {"role": role, "disabled": disabled}
        told = {key: value for key, value in wanted.items() if value is not None}
        await record(acquired, actor(), "user.change", account.id, **told)
        return account.name


async def set_password(name: str, password: str) -> str:
    """The name as its owner writes it."""
    hashed = hash_password(password)
    async with open_command_database(load_settings()) as pool, transaction(pool) as acquired:
        account = await named(acquired, name)
        await accounts.set_password(acquired, account.id, hashed)
        await sessions.end_all(acquired, account.id)
        await record(acquired, actor(), "user.password", account.id)
        return account.name


async def make_token(name: str, label: str, days: int | None, scopes: frozenset[Scope]) -> str:
    async with open_command_database(load_settings()) as pool, transaction(pool) as acquired:
        account = await named(acquired, name)
        made = await accounts.create_token(
            acquired, account.id, label, days=days, scopes=scopes
        )
        told = {"account": account.id, "name": label, "scopes": sorted(scopes)}
        await record(acquired, actor(), "token.make", made.view.id, **told)
        return made.secret


async def tokens(name: str) -> list[TokenView]:
    async with open_command_database(load_settings()) as pool, connection(pool) as acquired:
        account = await named(acquired, name)
        return await accounts.token_page(acquired, account.id, before=None, limit=MOST_SHOWN)


async def revoke(token: str) -> str:
    """What it was for."""
    async with open_command_database(load_settings()) as pool, transaction(pool) as acquired:
        revoked = await accounts.revoke_token(acquired, TokenId(token))
        if revoked is None:
            raise NotFound(f"There is no token {token[:80]}: see `deemster user tokens NAME`.")
        if revoked.was_valid:
            await record(acquired, actor(), "token.revoke", token, account=revoked.account)
        return revoked.view.name


async def named(acquired: Connection, name: str) -> Account:
    """In whatever case it is written."""
    account = await accounts.find_by_name(acquired, name)
    if account is None:
        raise NotFound(f"There is no account {name}: see `deemster user list`.")
    return account


def actor() -> Actor:
    return Actor(operator())
