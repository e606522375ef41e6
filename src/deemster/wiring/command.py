"""Opens the database for a command, if its tables are those that this version knows."""

import os
import pwd
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from deemster.domain.errors import Refused
from deemster.settings import Settings
from deemster.store.migrations import migrate
from deemster.store.pool import Pool, open_pool
from deemster.wiring.service import database_url


@asynccontextmanager
async def open_store(settings: Settings) -> AsyncIterator[Pool]:
    url = database_url(settings)
    if await migrate(url, dry_run=True):
        raise Refused(
            "The database's tables are older than this version of Deemster: run "
            "`deemster migrate` first."
        )
    async with open_pool(url, name="command", max_size=2) as pool:
        yield pool


def operator() -> str:
    """Who gives this command, for the record."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        name = str(os.getuid())
    return f"{name} by command"
