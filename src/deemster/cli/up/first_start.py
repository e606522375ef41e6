"""What the first start makes: secrets, the admin's account and token (O7)."""

from pathlib import Path
from typing import Final

from deemster.domain.account import Role
from deemster.domain.errors import Refused
from deemster.private_file import write_private
from deemster.store import accounts
from deemster.store.audit import Actor, record
from deemster.store.pool import Connection
from deemster.wiring.resources import operator

ADMIN: Final = "admin"
TOKEN_FILE: Final = "admin.token"  # noqa: S105 - a file's name


async def make_admin(connection: Connection, data_dir: Path) -> str | None:
    """A new token, if the one that lies there is none of an admin."""
    path = data_dir / TOKEN_FILE
    if path.exists():
        kept = await accounts.find_by_token(connection, read_token(path))
        if kept is not None and kept.role is Role.ADMIN:
            return None
    by = Actor(operator())
    account = await accounts.find_by_name(connection, ADMIN)
    if account is None:
        account = await accounts.add(connection, ADMIN, Role.ADMIN)
        await record(connection, by, "user.add", account.id, name=ADMIN, role=Role.ADMIN)
    if account.role is not Role.ADMIN:
        raise Refused(
            f"The account {ADMIN} is no admin's, so no token is made for it: rename it, or put "
            f"a token of an admin into {path}."
        )
    made = await accounts.create_token(connection, account.id, f"deemster up, {path}")
    told = {"name": made.view.name, "scopes": sorted(made.view.scopes)}
    await record(connection, by, "token.make", made.view.id, account=account.id, **told)
    write_private(path, made.secret)
    return made.secret


def read_token(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip()
