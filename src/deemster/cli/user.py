"""`deemster user`: accounts, their passwords and their tokens."""

import json
import sys
from dataclasses import asdict
from typing import Annotated

import typer
import uvloop
from rich.console import Console
from rich.table import Table

from deemster.cli import accounts
from deemster.domain.account import Role, Scope

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Whose.")]

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

    It can do nothing without a token or a password: see `deemster user token` and
    `deemster user password`.
    """
    account = uvloop.run(accounts.add(name, role))
    if as_json:
        print(json.dumps({"id": account.id, "name": account.name, "role": account.role}))
    else:
        print(f"Added {account.name} ({account.role}), {account.id}.")


@app.command()
def token(
    name: Name,
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
    scope: Annotated[
        list[Scope] | None,
        typer.Option(help="What it is good for; may be given several times. All unless told."),
    ] = None,
) -> None:
    """Make a token for an account, and print it: this once, nobody can show it again."""
    print(uvloop.run(accounts.make_token(name, label, days, frozenset(scope or Scope))))


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the accounts."""
    found = uvloop.run(accounts.everyone())
    if as_json:
        print(json.dumps({"users": [asdict(each) for each in found]}, default=str))
        return
    table = plain_table("name", "role", "since", "id", "")
    for each in found:
        since = f"{each.created_at:%Y-%m-%d}"
        note = "disabled" if each.disabled else ""
        table.add_row(each.name, each.role, since, each.id, note)
    Console().print(table)


@app.command()
def tokens(name: Name, as_json: AsJson = False) -> None:
    """List an account's tokens, newest first; the tokens themselves nobody can show."""
    found = uvloop.run(accounts.tokens(name))
    if as_json:
        lines = [{**asdict(each), "scopes": sorted(each.scopes)} for each in found]
        print(json.dumps({"tokens": lines}, default=str))
        return
    table = plain_table("id", "name", "scopes", "made", "last used", "good until", "")
    table.columns[0].no_wrap = True
    for each in found:
        state = "revoked" if each.revoked else "expired" if each.expired else ""
        table.add_row(
            each.id,
            each.name,
            "all" if each.scopes == frozenset(Scope) else " ".join(sorted(each.scopes)),
            f"{each.created_at:%Y-%m-%d}",
            f"{each.last_used_at:%Y-%m-%d %H:%M}" if each.last_used_at else "",
            f"{each.expires_at:%Y-%m-%d}" if each.expires_at else "",
            state,
        )
    Console().print(table)


@app.command()
def revoke(
    token_id: Annotated[
        str, typer.Argument(metavar="TOKEN-ID", help="As `user tokens` shows it: tok_….")
    ],
) -> None:
    """Revoke a token: within two seconds it is good for nothing."""
    print(f"Revoked {uvloop.run(accounts.revoke(token_id))}.")


@app.command()
def password(
    name: Name,
    stdin: Annotated[
        bool, typer.Option("--stdin", help="Read it from standard input, as one line.")
    ] = False,
) -> None:
    """Set an account's password; who was logged in by the old one is so no more."""
    if stdin:
        given = sys.stdin.readline().rstrip("\r\n")
    else:
        given = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    print(f"The password of {uvloop.run(accounts.set_password(name, given))} is set.")


@app.command()
def role(
    name: Name,
    role: Annotated[Role, typer.Argument(metavar="ROLE", help="user, author or admin.")],
) -> None:
    """Give an account another role."""
    print(f"{uvloop.run(accounts.change(name, role=role))} is {role} now.")


@app.command()
def disable(name: Name) -> None:
    """Shut an account out: its log-ins and its tokens end, and no new ones are made."""
    whose = uvloop.run(accounts.change(name, disabled=True))
    print(f"{whose} is disabled; log-ins and tokens have ended.")


@app.command()
def enable(name: Name) -> None:
    """Let an account in again, by its password or by new tokens."""
    print(f"{uvloop.run(accounts.change(name, disabled=False))} is enabled.")


def plain_table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table
