"""`deemster user`: accounts and their tokens."""

import json
import re
from dataclasses import asdict
from typing import Annotated

import typer
import uvloop
from rich.console import Console
from rich.table import Table

from deemster.cli.store import open_store
from deemster.domain.account import Account, Role
from deemster.domain.errors import NotFound, Refused
from deemster.settings import load_settings
from deemster.store import accounts
from deemster.store.accounts import AccountView
from deemster.store.pool import connection, transaction

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""As the table has it."""
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

app = typer.Typer(
    name="user",
    help="Accounts, and the tokens by which programs act for them.",
    no_args_is_help=True,
    add_completion=False,
)


@app.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Letters, digits and . _ -")],
    role: Annotated[
        Role, typer.Option(help="What the account may do.", show_choices=True)
    ] = Role.USER,
    as_json: AsJson = False,
) -> None:
    """Add an account.

    It can do nothing without a token: see `deemster user token`.
    """
    account = uvloop.run(add_account(name, role))
    if as_json:
        print(json.dumps({"id": account.id, "name": account.name, "role": account.role}))
    else:
        print(f"Added {account.name} ({account.role}), {account.id}.")


@app.command()
def token(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose.")],
    label: Annotated[
        str, typer.Option("--name", metavar="TEXT", help="What it is for.")
    ] = "command line",
    days: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=36_500,
            help="How long it is good; for ever unless told.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Make a token for an account, and print it: this once, nobody can show it again."""
    print(uvloop.run(make_token(name, label, days)))


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the accounts."""
    found = uvloop.run(everyone())
    if as_json:
        print(json.dumps({"users": [asdict(each) for each in found]}, default=str))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("name", "role", "since", "id", ""):
        table.add_column(heading)
    for each in found:
        since = f"{each.created_at:%Y-%m-%d}"
        note = "disabled" if each.disabled else ""
        table.add_row(each.name, each.role, since, each.id, note)
    Console().print(table)


async def add_account(name: str, role: Role) -> Account:
    if not NAME.fullmatch(name):
        raise Refused(
            f"An account can't be called {name[:80]!r}: use up to 64 letters, digits, dots, "
            "dashes and underscores, beginning with a letter or digit."
        )
    async with open_store(load_settings()) as pool, transaction(pool) as acquired:
        return await accounts.add(acquired, name, role)


async def make_token(name: str, label: str, days: int | None) -> str:
    async with open_store(load_settings()) as pool, transaction(pool) as acquired:
        account = await accounts.of_name(acquired, name)
        if account is None:
            raise NotFound(f"There is no account {name}: see `deemster user list`.")
        return await accounts.add_token(acquired, account.id, label, days=days)


async def everyone() -> list[AccountView]:
    async with open_store(load_settings()) as pool, connection(pool) as acquired:
        return await accounts.everyone(acquired)
