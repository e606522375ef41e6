"""Creates the admin's account, token and one-time link, and loads the sample problems (O7)."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deemster.cli.token_file import TOKEN_FILE, read_token
from deemster.cli.up.display import Display
from deemster.cli.up.logs import Log
from deemster.domain.account import Role
from deemster.domain.errors import Refused
from deemster.domain.ids import AccountId, problem_id_from_name
from deemster.private_file import write_private
from deemster.programs.build.languages import shipped_directory
from deemster.store import accounts, log_in_links
from deemster.store.audit import Actor, record
from deemster.store.pool import Connection, Pool, connection
from deemster.store.problems import get
from deemster.wiring.forked_process import ForkServerClient
from deemster.wiring.resources import operator

ADMIN: Final = "admin"
LINK_DAYS: Final = 7


@dataclass(frozen=True, slots=True, repr=False)
class NewAdmin:
    """What the first start shows, and what is not stored anywhere else."""

    token: str
    link_code: str | None
    """Of a one-time link; None: the admin has a password."""


async def make_admin(acquired: Connection, data_dir: Path) -> NewAdmin | None:
    """A new token, unless the token file already holds one of an admin."""
    path = data_dir / TOKEN_FILE
    if path.exists():
        owner = await accounts.find_by_token(acquired, read_token(path))
        if owner is not None and owner.role is Role.ADMIN:
            return None
    actor = Actor(operator())
    account = await accounts.find_by_name(acquired, ADMIN)
    if account is None:
        account = await accounts.add(acquired, ADMIN, Role.ADMIN)
        await record(acquired, actor, "user.add", account.id, name=ADMIN, role=Role.ADMIN)
    if account.role is not Role.ADMIN:
        raise Refused(
            f"The account {ADMIN} does not have the role admin, so it gets no token: rename "
            f"it, or put the token of an admin into {path}."
        )
    made = await accounts.create_token(acquired, account.id, f"deemster up, {path}")
    details = {"name": made.view.name, "scopes": sorted(made.view.scopes)}
    await record(acquired, actor, "token.make", made.view.id, account=account.id, **details)
    code = await make_link(acquired, account.id, actor)
    write_private(path, made.secret)
    return NewAdmin(made.secret, code)


async def make_link(acquired: Connection, account: AccountId, actor: Actor) -> str | None:
    """The code of a one-time link for an admin who has no password yet."""
    known = await accounts.credentials_by_id(acquired, account)
    if known is None or known.password is not None:
        return None
    [code] = await log_in_links.add_all(acquired, [account], days=LINK_DAYS)
    await record(acquired, actor, "user.link", account, days=LINK_DAYS)
    return code


async def is_without_password(acquired: Connection) -> bool:
    """Whether nobody can log in as the admin but with a one-time link."""
    known = await accounts.credentials_by_name(acquired, ADMIN)
    return known is not None and known.password is None and not known.disabled


async def load_samples(
    pool: Pool,
    fork_server: ForkServerClient,
    environment: Mapping[str, str],
    log_dir: Path,
    display: Display,
) -> None:
    """In a process of its own, so that this one stays small."""
    missing = await missing_samples(pool)
    if not missing:
        return
    async with Log.open(log_dir / "samples.log", lambda _: None) as (log, output):
        arguments = ["problem", "import", *map(str, missing)]
        process = fork_server.start(arguments, environment, output)
        try:
            code = await process.wait()
        except asyncio.CancelledError:
            await process.end_at_once()
            raise
    if code == 0:
        display.say(f"Loaded {len(missing)} sample problems.")
    else:
        display.warn(f"Some sample problems could not be loaded: see {log.path}.")


async def missing_samples(pool: Pool) -> list[Path]:
    """A sample that an admin changed or retired is not missing, and stays as it is."""
    shipped = sorted(
        path.parent for path in shipped_directory("samples").glob("*/problem.yaml")
    )
    async with connection(pool) as acquired:
        return [
            path
            for path in shipped
            if await get(acquired, problem_id_from_name(path.name)) is None
        ]
