"""Opens the database, the queue and the artifact store that the settings name."""

import os
import pwd
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic import SecretStr

from deemster.domain.errors import Refused, Unavailable
from deemster.domain.job import TRANSMITTABLE, Task
from deemster.domain.judge_host import JudgeOn
from deemster.settings import Settings
from deemster.store.artifacts import Artifacts
from deemster.store.embedded import APPLICATION, OWNER, running_url
from deemster.store.grants import create_application, role_of
from deemster.store.migrations import Migration, migrate
from deemster.store.pool import Connection, DatabaseRefuses, Pool, open_pool, transaction


def database_url(settings: Settings) -> str:
    """Returns the operator's database, or the embedded one that `deemster up` runs."""
    if settings.database_url is not None:
        return settings.database_url.get_secret_value()
    return running_database(settings, APPLICATION)


def running_database(settings: Settings, role: str) -> str:
    running = running_url(settings.data_dir, role)
    if running is None:
        raise Refused(
            f"No database is running for {settings.data_dir}: start `deemster up`, or set "
            "DEEMSTER_DATABASE_URL to your own Postgres."
        )
    return running


async def migrate_database(settings: Settings, *, dry_run: bool = False) -> list[Migration]:
    """Migrates as the role that owns the tables, which is another than the service's role."""
    if settings.database_url is None:
        url = running_database(settings, OWNER)
        if not dry_run:
            await create_application(url, APPLICATION)
        return await migrate(url, dry_run=dry_run, application=APPLICATION)
    application = settings.database_url.get_secret_value()
    owner = revealed(settings.migration_database_url)
    if owner is None:
        return await migrate(application, dry_run=dry_run)
    role = await role_of(application)
    return await migrate(owner, dry_run=dry_run, application=role)


def transmitted_tasks(settings: Settings) -> frozenset[Task]:
    """The tasks whose jobs go to the queue from which judge hosts are served."""
    return frozenset() if settings.judge_on is JudgeOn.WORKERS else TRANSMITTABLE


def queue_url(settings: Settings) -> str:
    if settings.queue_url is not None:
        return settings.queue_url.get_secret_value()
    return database_url(settings)


def open_artifacts(settings: Settings) -> Artifacts:
    return Artifacts.open(revealed(settings.artifacts_url), settings.data_dir)


@asynccontextmanager
async def open_database(
    settings: Settings, role: str, *, max_size: int = 10, durable: bool = True
) -> AsyncIterator[Pool]:
    url = database_url(settings)
    async with open_pool(url, name=role, max_size=max_size, durable=durable) as pool:
        yield pool


async def check_tables(url: str) -> None:
    """Refuses tables of an older or newer version."""
    if await migrate(url, dry_run=True):
        raise Refused(
            "The database tables are older than this version of Deemster: run "
            "`deemster migrate` first."
        )


async def check_database(settings: Settings) -> None:
    """The same for a role, which starts also while the database is down, and waits for it."""
    try:
        await check_tables(database_url(settings))
    except DatabaseRefuses:
        raise  # nobody mends a wrong password by waiting
    except Unavailable:
        pass


@asynccontextmanager
async def open_command_database(settings: Settings) -> AsyncIterator[Pool]:
    """Opens the database for a command; refuses tables of an older version."""
    url = database_url(settings)
    await check_tables(url)
    async with open_pool(url, name="command", max_size=2) as pool:
        yield pool


@asynccontextmanager
async def open_command_transaction(settings: Settings) -> AsyncIterator[Connection]:
    async with open_command_database(settings) as pool, transaction(pool) as acquired:
        yield acquired


def revealed(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret is not None else None


def operator() -> str:
    """Name of the user who runs this command, for the audit log."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        name = str(os.getuid())
    return f"{name} by command"
