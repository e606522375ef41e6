"""Imports the accounts of a class list, with generated passwords or one-time links (K4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from deemster.api.auth.generated_passwords import hash_generated_password
from deemster.api.user_import.class_list import ClassListRow
from deemster.domain.account import Role
from deemster.domain.readable_secret import new_readable_secret
from deemster.store import account_import
from deemster.store.account_import import ImportOutcome, NewAccount
from deemster.store.audit import Actor
from deemster.store.log_in_links import link_url
from deemster.store.pool import Connection

LINK_DAYS: Final = 14


class CredentialsKind(StrEnum):
    """What an account gets if the list has no password for it: a one-time link, a
    generated password, or nothing."""

    LINK = "link"
    """A link that logs in once."""
    PASSWORD = "password"  # noqa: S105 - no secret
    """A generated password."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class ImportPlan:
    base_url: str
    """URL of the judge, with which links begin."""
    credentials: CredentialsKind = CredentialsKind.LINK
    link_days: int = LINK_DAYS
    renew: bool = False
    """Gives new credentials to accounts that exist; otherwise these are not changed."""


@dataclass(frozen=True, slots=True, repr=False)
class ImportedLogIn:
    """How the owner of an imported account logs in."""

    line: int
    id: str
    name: str
    role: Role
    outcome: ImportOutcome
    password: str | None
    link: str | None
    other: Mapping[str, str]


@dataclass(frozen=True, slots=True, repr=False)
class ImportedClass:
    log_ins: list[ImportedLogIn]
    ended: list[bytes]
    """Digests of the sessions that ended."""

    def count(self, outcome: ImportOutcome) -> int:
        return sum(each.outcome is outcome for each in self.log_ins)


@dataclass(frozen=True, slots=True, repr=False)
class PreparedClass:
    """A class list with the passwords of its accounts, ready to be stored."""

    rows: Sequence[ClassListRow]
    plan: ImportPlan
    passwords: list[str | None]
    accounts: list[NewAccount]


def prepare_class(
    rows: Sequence[ClassListRow], given_hashes: Mapping[str, str], plan: ImportPlan
) -> PreparedClass:
    """Generates and hashes passwords, which takes too long for an open transaction.

    `given_hashes` has the argon2 hashes of the passwords in the list, by password.
    """
    passwords = [
        row.password
        or (new_readable_secret() if plan.credentials is CredentialsKind.PASSWORD else None)
        for row in rows
    ]
    accounts = [
        NewAccount(
            name=row.name,
            role=row.role,
            tier=row.tier,
            daily_quota=row.daily_quota,
            password=stored_hash(row, password, given_hashes),
            with_link=password is None and plan.credentials is CredentialsKind.LINK,
        )
        for row, password in zip(rows, passwords, strict=True)
    ]
    return PreparedClass(rows, plan, passwords, accounts)


async def import_class(
    connection: Connection, prepared: PreparedClass, actor: Actor
) -> ImportedClass:
    plan = prepared.plan
    done = await account_import.add_all(
        connection, prepared.accounts, actor, renew=plan.renew, link_days=plan.link_days
    )
    log_ins = [
        ImportedLogIn(
            line=row.line,
            id=imported.account.id,
            name=imported.account.name,
            role=imported.account.role,
            outcome=imported.outcome,
            password=password if imported.outcome is not ImportOutcome.KEPT else None,
            link=link_url(plan.base_url, imported.link_code) if imported.link_code else None,
            other=row.other,
        )
        for row, password, imported in zip(
            prepared.rows, prepared.passwords, done.accounts, strict=True
        )
    ]
    return ImportedClass(log_ins, done.ended)


def stored_hash(
    row: ClassListRow, password: str | None, given_hashes: Mapping[str, str]
) -> str | None:
    if row.password is not None:
        return given_hashes[row.password]
    return hash_generated_password(password) if password is not None else None


def given_passwords(rows: Sequence[ClassListRow]) -> list[str]:
    """The different passwords that people chose: each needs a slow hash."""
    return sorted({row.password for row in rows if row.password is not None})
