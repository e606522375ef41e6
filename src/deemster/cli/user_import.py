"""`deemster user import` and `user link`: accounts in bulk, and one-time links (K4)."""

import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
import uvloop

from deemster.api.auth.passwords import hash_password
from deemster.api.user_import.class_list import ClassListRow, read_class_list
from deemster.api.user_import.documents import to_csv, to_sheet
from deemster.api.user_import.log_ins import (
    LINK_DAYS,
    CredentialsKind,
    ImportedClass,
    ImportPlan,
    given_passwords,
    import_class,
    prepare_class,
)
from deemster.cli.options import AsJson
from deemster.cli.output import print_json
from deemster.domain.errors import Conflict, NotFound, Refused
from deemster.private_file import write_private
from deemster.settings import Settings, given_server_url, load_settings
from deemster.store import accounts, log_in_links
from deemster.store.account_import import ImportOutcome
from deemster.store.audit import Actor, record
from deemster.store.log_in_links import link_url
from deemster.wiring.address import Address
from deemster.wiring.resources import open_command_transaction, operator

Days = Annotated[
    int, typer.Option(metavar="N", min=1, max=365, help="Days until an unused link expires.")
]
Url = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Address of the judge in links. [default: public_url, then DEEMSTER_URL]",
        show_default=False,
    ),
]


def import_users(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE.csv", help="List with the columns name, role, password…"),
    ],
    credentials: Annotated[
        CredentialsKind,
        typer.Option(
            help="What an account gets if the list has no password for it: a one-time link, a "
            "generated password, or nothing."
        ),
    ] = CredentialsKind.LINK,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="Write the log-ins into this new file. [default: standard output]",
            show_default=False,
        ),
    ] = None,
    sheet: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.html",
            help="Also write them into this new file, as a sheet to print and cut.",
        ),
    ] = None,
    days: Days = LINK_DAYS,
    renew: Annotated[
        bool, typer.Option("--renew", help="Give new log-ins to accounts that exist, too.")
    ] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Add the accounts of a class list, and write how they log in.

    The first line of the list has the headings. Only `name` is needed; `role`, `password`,
    `tier` and `daily_quota` are optional. Other columns appear beside the log-ins.
    """
    for target in (output, sheet):
        if target is not None and target.exists():
            raise Refused(f"{target} exists: delete it first, or choose another name.")
    settings = load_settings()
    plan = ImportPlan(base_url(settings, url), credentials, days, renew)
    done = uvloop.run(import_list(settings, read_class_list(read_file(file)), plan))
    if sheet is not None:
        write_private(sheet, to_sheet(done.log_ins, plan.base_url, days))
    if output is not None:
        write_private(output, to_csv(done.log_ins))
    if as_json:
        print_json({"users": [asdict(each) for each in done.log_ins]})
    elif output is None:
        sys.stdout.write(to_csv(done.log_ins))
    print(summary(done), file=sys.stderr)


async def import_list(
    settings: Settings, rows: Sequence[ClassListRow], plan: ImportPlan
) -> ImportedClass:
    given = given_passwords(rows)
    # Before the transaction: a thousand hashes take minutes.
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        hashes = dict(zip(given, threads.map(hash_password, given), strict=True))
    prepared = prepare_class(rows, hashes, plan)
    async with open_command_transaction(settings) as acquired:
        return await import_class(acquired, prepared, Actor(operator()))


def summary(done: ImportedClass) -> str:
    created, renewed, kept = (done.count(outcome) for outcome in ImportOutcome)
    text = f"Created {created:,} accounts."
    if renewed:
        text += f" {renewed:,} existed and got new log-ins."
    if kept:
        text += f" {kept:,} existed and were not changed (--renew gives them new log-ins)."
    return text


def link(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the account.")],
    days: Days = LINK_DAYS,
    url: Url = None,
) -> None:
    """Print a link that logs in to an account once."""
    print(uvloop.run(create_link(load_settings(), name, days, url)))


async def create_link(settings: Settings, name: str, days: int, url: str | None) -> str:
    async with open_command_transaction(settings) as acquired:
        found = await accounts.credentials_by_name(acquired, name)
        if found is None:
            raise NotFound(f"There is no account {name}: see `deemster user list`.")
        if found.disabled:
            raise Conflict(f"The account {name} is disabled: enable it first.")
        account = found.account.id
        [code] = await log_in_links.add_all(acquired, [account], days=days)
        await record(acquired, Actor(operator()), "user.link", account, days=days)
    return link_url(base_url(settings, url), code)


def base_url(settings: Settings, given: str | None) -> str:
    own = Address(settings.host, settings.port).url
    return given or settings.public_url or given_server_url() or own


def read_file(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as fault:
        raise Refused(f"{file} can't be read: {fault.strerror}.") from fault
