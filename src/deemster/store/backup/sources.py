"""The database and the artifacts of a backup: those of a running service, or of one at rest."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from deemster.domain.errors import Refused
from deemster.settings import Settings
from deemster.store.artifacts.backend import ArtifactBackend
from deemster.store.artifacts.files import FileBackend
from deemster.store.artifacts.s3 import S3Backend, parse_address
from deemster.store.data_lock import lock_data_dir
from deemster.store.embedded import run_cluster, running_url

PATIENCE_S = 60.0


@asynccontextmanager
async def reading(settings: Settings) -> AsyncIterator[str]:
    """The URL of the database: the embedded one is started if it isn't running."""
    if settings.database_url is not None:
        yield settings.database_url.get_secret_value()
        return
    running = running_url(settings.data_dir)
    if running is not None:
        yield running
        return
    if not (settings.data_dir / "postgres" / "cluster").exists():
        raise Refused(
            f"There is no database in {settings.data_dir}: name the data directory with "
            "DEEMSTER_DATA_DIR, or your own Postgres with DEEMSTER_DATABASE_URL."
        )
    with lock_data_dir(settings.data_dir, "`deemster backup`"):
        async with run_cluster(settings.data_dir) as cluster:
            yield cluster.url


@asynccontextmanager
async def writing(settings: Settings) -> AsyncIterator[str]:
    """The same, for us alone: no service may run on this data directory."""
    async with AsyncExitStack() as stack:
        stack.enter_context(lock_data_dir(settings.data_dir, "`deemster restore`"))
        if settings.database_url is not None:
            yield settings.database_url.get_secret_value()
            return
        cluster = await stack.enter_async_context(run_cluster(settings.data_dir))
        yield cluster.url


def open_depot(settings: Settings) -> ArtifactBackend:
    if settings.artifacts_url is None:
        return FileBackend(settings.data_dir / "artifacts")
    return S3Backend(parse_address(settings.artifacts_url.get_secret_value()), PATIENCE_S)
