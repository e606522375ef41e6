"""Adds accounts by the thousand, in a few statements (K4)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from deemster.domain.account import Account, Role
from deemster.domain.errors import Conflict
from deemster.domain.ids import ACCOUNT, AccountId, new_id
from deemster.store import log_in_links
from deemster.store.audit import Actor
from deemster.store.pool import Connection, statements

SQL = statements("account_import")
NAMES_SHOWN = 20


class ImportOutcome(StrEnum):
    CREATED = "created"
    RENEWED = "renewed"
    """The account existed, and got new credentials."""
    KEPT = "kept"
    """The account existed, and was not changed."""


@dataclass(frozen=True, slots=True, repr=False)
class NewAccount:
    name: str
    role: Role
    tier: int
    daily_quota: int | None
    password: str | None
    """The hash; None: the account gets no password."""
    with_link: bool


@dataclass(frozen=True, slots=True, repr=False)
class ImportedAccount:
    account: Account
    outcome: ImportOutcome
    link_code: str | None


@dataclass(frozen=True, slots=True)
class Import:
    accounts: list[ImportedAccount]
    """In the order of the request."""
    ended: list[bytes]
    """Digests of the sessions that a new password ended."""


async def add_all(
    connection: Connection,
    asked: Sequence[NewAccount],
    actor: Actor,
    *,
    renew: bool,
    link_days: int,
) -> Import:
    """Adds the accounts that don't exist; with `renew`, others get new credentials."""
    created = await create(connection, asked)
    existing = await find_existing(connection, asked, renew=renew)
    accounts = [created.get(each.name) or existing[each.name.lower()] for each in asked]
    outcomes = [
        ImportOutcome.CREATED
        if each.name in created
        else ImportOutcome.RENEWED
        if renew
        else ImportOutcome.KEPT
        for each in asked
    ]
    ended = []
    renewed = [
        (account.id, each.password)
        for each, account, outcome in zip(asked, accounts, outcomes, strict=True)
        if outcome is ImportOutcome.RENEWED and each.password is not None
    ]
    if renewed:
        ids, passwords = zip(*renewed, strict=True)
        await SQL.set_passwords(connection, ids=list(ids), passwords=list(passwords))
        ended = [row["digest"] async for row in SQL.end_sessions(connection, ids=list(ids))]
    linked = [
        account.id
        for each, account, outcome in zip(asked, accounts, outcomes, strict=True)
        if each.with_link and outcome is not ImportOutcome.KEPT
    ]
    codes = await log_in_links.add_all(connection, linked, days=link_days)
    code_of = dict(zip(linked, codes, strict=True))
    imported = [
        ImportedAccount(account, outcome, code_of.get(account.id))
        for account, outcome in zip(accounts, outcomes, strict=True)
    ]
    await record(connection, actor, asked, imported)
    return Import(imported, ended)


async def create(connection: Connection, asked: Sequence[NewAccount]) -> dict[str, Account]:
    """Returns the accounts that did not exist, by name."""
    accounts = [
        Account(AccountId(new_id(ACCOUNT)), each.name, each.role, tier=each.tier)
        for each in asked
    ]
    rows = SQL.add_all(
        connection,
        ids=[account.id for account in accounts],
        names=[each.name for each in asked],
        roles=[each.role for each in asked],
        tiers=[each.tier for each in asked],
        quotas=[each.daily_quota for each in asked],
        passwords=[each.password for each in asked],
    )
    added = {row["id"] async for row in rows}
    return {account.name: account for account in accounts if account.id in added}


async def find_existing(
    connection: Connection, asked: Sequence[NewAccount], *, renew: bool
) -> dict[str, Account]:
    """By name in lower case. Refuses to renew accounts that a class list names by mistake."""
    roles = {each.name.lower(): each.role for each in asked}
    rows = [row async for row in SQL.find_by_names(connection, names=list(roles))]
    if renew:
        wrong = [
            row["name"]
            for row in rows
            if row["disabled_at"] is not None or row["role"] != roles[row["name"].lower()]
        ]
        if wrong:
            raise Conflict(
                "These accounts are disabled, or have another role than the list says, so they "
                f"get no new credentials: {', '.join(wrong[:NAMES_SHOWN])}. Nothing was "
                "imported: take them out of the list."
            )
    return {
        row["name"].lower(): Account(AccountId(row["id"]), row["name"], Role(row["role"]))
        for row in rows
    }


async def record(
    connection: Connection,
    actor: Actor,
    asked: Sequence[NewAccount],
    imported: Sequence[ImportedAccount],
) -> None:
    changed = [
        (each, done)
        for each, done in zip(asked, imported, strict=True)
        if done.outcome is not ImportOutcome.KEPT
    ]
    await SQL.record_all(
        connection,
        account=actor.account,
        actor=actor.name,
        request_id=actor.request_id,
        acts=[ACTS[done.outcome] for _, done in changed],
        targets=[done.account.id for _, done in changed],
        details=[json.dumps(audit_details(each, done)) for each, done in changed],
    )


ACTS = {ImportOutcome.CREATED: "user.add", ImportOutcome.RENEWED: "user.change"}


def audit_details(asked: NewAccount, done: ImportedAccount) -> Mapping[str, Any]:
    credentials = "password" if asked.password else "link" if done.link_code else "none"
    return {"name": done.account.name, "role": done.account.role, "import": credentials}
