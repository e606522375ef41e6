"""`deemster user`: manages accounts, their passwords and their tokens."""

import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer
import uvloop

from deemster.api.auth.passwords import hash_password
from deemster.cli.options import AsJson, make_group
from deemster.cli.output import make_table, print_json, table_console
from deemster.cli.user_import import import_users, link
from deemster.domain.account import DEFAULT_SCOPES, Account, Role, Scope, check_name
from deemster.domain.errors import NotFound
from deemster.domain.ids import TokenId
from deemster.settings import load_settings
from deemster.store import accounts, sessions
from deemster.store.accounts import AccountUpdate, AccountView, TokenView
from deemster.store.audit import Actor, record
from deemster.store.pool import Connection
from deemster.wiring.resources import open_command_transaction, operator

TOKENS_SHOWN = 1000
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the account.")]

app = make_group("user", "Manage accounts, their passwords and their tokens.")
app.command("import")(import_users)
app.command("link")(link)


@app.command()
def add(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Name of the account: letters, digits and . _ -"),
    ],
    role: Annotated[
        Role, typer.Option(help="Role of the account.", show_choices=True)
    ] = Role.USER,
    as_json: AsJson = False,
) -> None:
    """Add an account.

    To use it, give it a token (`deemster user token`), a password
    (`deemster user password`) or a one-time link (`deemster user link`).
    """
    account = uvloop.run(add_account(name, role))
    if as_json:
        print_json({"id": account.id, "name": account.name, "role": account.role})
    else:
        print(f"Added {account.name} ({account.role}), {account.id}.")


async def add_account(name: str, role: Role) -> Account:
    check_name(name)
    async with open_command_transaction(load_settings()) as acquired:
        account = await accounts.add(acquired, name, role)
        await record(acquired, actor(), "user.add", account.id, name=name, role=role)
        return account


@app.command()
def token(
    name: Name,
    label: Annotated[
        str, typer.Option("--name", metavar="TEXT", help="What the token is for.")
    ] = "command line",
    days: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=36_500,
            help="Days until the token expires. [default: it does not expire]",
            show_default=False,
        ),
    ] = None,
    scope: Annotated[
        list[Scope] | None,
        typer.Option(
            help="Scope of the token; can be given several times. [default: those of the role]"
        ),
    ] = None,
) -> None:
    """Create a token for an account and print it; it can't be shown again."""
    print(uvloop.run(create_token(name, label, days, scope)))


async def create_token(
    name: str, label: str, days: int | None, asked: list[Scope] | None
) -> str:
    async with open_command_transaction(load_settings()) as acquired:
        account = await find_account(acquired, name)
        scopes = frozenset(asked) if asked else DEFAULT_SCOPES[account.role]
        made = await accounts.create_token(
            acquired, account.id, label, days=days, scopes=scopes
        )
        details = {"account": account.id, "name": label, "scopes": sorted(scopes)}
        await record(acquired, actor(), "token.make", made.view.id, **details)
        return made.secret


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the accounts."""
    found = uvloop.run(read_accounts())
    if as_json:
        print_json({"users": [asdict(each) for each in found]})
        return
    table = make_table("name", "role", "created", "id", "")
    for each in found:
        created = f"{each.created_at:%Y-%m-%d}"
        table.add_row(
            each.name, each.role, created, each.id, "disabled" if each.disabled else ""
        )
    table_console().print(table)


async def read_accounts() -> list[AccountView]:
    async with open_command_transaction(load_settings()) as acquired:
        return await accounts.list_all(acquired)


@app.command()
def tokens(name: Name, as_json: AsJson = False) -> None:
    """List the tokens of an account, newest first, without their secrets."""
    found = uvloop.run(read_tokens(name))
    if as_json:
        print_json(
            {"tokens": [{**asdict(each), "scopes": sorted(each.scopes)} for each in found]}
        )
        return
    table = make_table("id", "name", "scopes", "created", "last used", "expires", "")
    table.columns[0].no_wrap = True
    for each in found:
        table.add_row(
            each.id,
            each.name,
            "all" if each.scopes == frozenset(Scope) else " ".join(sorted(each.scopes)),
            f"{each.created_at:%Y-%m-%d}",
            f"{each.last_used_at:%Y-%m-%d %H:%M}" if each.last_used_at else "",
            f"{each.expires_at:%Y-%m-%d}" if each.expires_at else "",
            "revoked" if each.revoked else "expired" if each.expired else "",
        )
    table_console().print(table)


async def read_tokens(name: str) -> list[TokenView]:
    async with open_command_transaction(load_settings()) as acquired:
        account = await find_account(acquired, name)
        return await accounts.token_page(acquired, account.id, before=None, limit=TOKENS_SHOWN)


@app.command()
def revoke(
    token_id: Annotated[
        str, typer.Argument(metavar="TOKEN-ID", help="Id that `user tokens` shows: tok_….")
    ],
) -> None:
    """Revoke a token; within two seconds every server refuses it."""
    print(f"Revoked {uvloop.run(revoke_token(token_id))}.")


async def revoke_token(token: str) -> str:
    """The token's name."""
    async with open_command_transaction(load_settings()) as acquired:
        revoked = await accounts.revoke_token(acquired, TokenId(token))
        if revoked is None:
            raise NotFound(f"There is no token {token[:80]}: see `deemster user tokens NAME`.")
        if revoked.was_valid:
            await record(acquired, actor(), "token.revoke", token, account=revoked.account)
        return revoked.view.name


@app.command()
def password(
    name: Name,
    stdin: Annotated[
        bool,
        typer.Option("--stdin", help="Read the password from standard input, as one line."),
    ] = False,
) -> None:
    """Set the password of an account, and end all of its log-ins."""
    if stdin:
        given = sys.stdin.readline().rstrip("\r\n")
    else:
        given = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    print(f"The password of {uvloop.run(set_password(name, given))} is set.")


async def set_password(name: str, password: str) -> str:
    """The account's name as it is stored."""
    hashed = hash_password(password)
    async with open_command_transaction(load_settings()) as acquired:
        account = await find_account(acquired, name)
        await accounts.set_password(acquired, account.id, hashed)
        await sessions.end_all(acquired, account.id)
        await record(acquired, actor(), "user.password", account.id)
        return account.name


@app.command()
def role(
    name: Name,
    role: Annotated[Role, typer.Argument(metavar="ROLE", help="user, author or admin.")],
) -> None:
    """Change the role of an account."""
    changed = uvloop.run(change_account(name, role=role))
    print(f"{changed} is {role} now.")


@app.command()
def disable(name: Name) -> None:
    """Disable an account: its log-ins and tokens end, and it gets no new ones."""
    changed = uvloop.run(change_account(name, disabled=True))
    print(f"{changed} is disabled; its log-ins and tokens have ended.")


@app.command()
def enable(name: Name) -> None:
    """Enable an account again; it can log in with its password or with new tokens."""
    changed = uvloop.run(change_account(name, disabled=False))
    print(f"{changed} is enabled.")


async def change_account(name: str, **changes: Any) -> str:
    """The account's name as it is stored."""
    async with open_command_transaction(load_settings()) as acquired:
        account = await find_account(acquired, name)
        await accounts.update(acquired, account.id, AccountUpdate(**changes))
        await record(acquired, actor(), "user.change", account.id, **changes)
        return account.name


async def find_account(acquired: Connection, name: str) -> Account:
    """Upper and lower case make no difference."""
    account = await accounts.find_by_name(acquired, name)
    if account is None:
        raise NotFound(f"There is no account {name}: see `deemster user list`.")
    return account


def actor() -> Actor:
    return Actor(operator())
