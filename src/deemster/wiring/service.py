"""Opens what the roles share: database, queue, artifacts."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic import SecretStr

from deemster.domain.errors import Refused
from deemster.settings import Settings
from deemster.store.artifacts import Artifacts
from deemster.store.embedded import running_url
from deemster.store.pool import Pool, open_pool


def database_url(settings: Settings) -> str:
    """The operator's own server, else the one that `deemster up` runs on this machine."""
    if settings.database_url is not None:
        return settings.database_url.get_secret_value()
    running = running_url(settings.data_dir)
    if running is None:
        raise Refused(
            f"No database runs for {settings.data_dir}: start `deemster up`, or name your own "
            "Postgres with DEEMSTER_DATABASE_URL."
        )
    return running


def queue_url(settings: Settings) -> str:
    if settings.queue_url is not None:
        return settings.queue_url.get_secret_value()
    return database_url(settings)


def open_artifacts(settings: Settings) -> Artifacts:
    return Artifacts.open(revealed(settings.artifacts_url), settings.data_dir)


@asynccontextmanager
async def open_database(
    settings: Settings, role: str, *, most: int = 10
) -> AsyncIterator[Pool]:
    async with open_pool(database_url(settings), name=role, max_size=most) as pool:
        yield pool


def revealed(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret is not None else None
