"""One-time log-in links; only the hash of the code in a link is stored (K4, O6)."""

from collections.abc import Sequence
from typing import Final

from deemster.domain.account import Account
from deemster.domain.ids import AccountId
from deemster.domain.readable_secret import new_readable_secret, normalise_readable_secret
from deemster.store.accounts import account_from_row, token_digest
from deemster.store.pool import Connection, statements

SQL = statements("log_in_links")
PATH: Final = "/log-in"
"""A link is the URL of the judge, this path, and a code."""


async def add_all(
    connection: Connection, accounts: Sequence[AccountId], *, days: int
) -> list[str]:
    """Returns the codes, in the order of the accounts; they are not stored."""
    codes = [new_readable_secret() for _ in accounts]
    digests = [code_digest(code) for code in codes]
    await SQL.trim(connection)
    await SQL.add_all(connection, digests=digests, accounts=list(accounts), days=days)
    return codes


async def find_account(connection: Connection, code: str) -> Account | None:
    """Returns None if the link was used, has expired, or never existed."""
    row = await SQL.find_account(connection, digest=code_digest(code))
    return account_from_row(row) if row else None


async def use(connection: Connection, code: str) -> Account | None:
    """Returns None if the link was used, has expired, or never existed."""
    row = await SQL.use(connection, digest=code_digest(code))
    return account_from_row(row) if row else None


def code_digest(code: str) -> bytes:
    return token_digest(normalise_readable_secret(code))


def link_url(base_url: str, code: str) -> str:
    return f"{base_url.rstrip('/')}{PATH}/{code}"
