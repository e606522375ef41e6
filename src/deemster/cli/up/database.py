"""The database of `deemster up`: the operator's own, or the embedded one, kept running."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from deemster.cli.up.display import Display
from deemster.domain.errors import DeemsterError
from deemster.settings import Settings
from deemster.store.embedded import Cluster, run_cluster

PAUSE_S: Final = 1.0


@asynccontextmanager
async def database(settings: Settings, board: Display) -> AsyncIterator[str]:
    """Its URL; what it needs is there until the end."""
    if settings.database_url is not None:
        yield settings.database_url.get_secret_value()
        return
    async with (
        run_cluster(settings.data_dir) as cluster,
        asyncio.TaskGroup() as group,
    ):
        keeping = group.create_task(keep(cluster, board))
        try:
            yield cluster.url
        finally:
            keeping.cancel()


async def keep(cluster: Cluster, board: Display) -> None:
    while True:
        code = await cluster.wait()
        board.warn(f"Postgres ended (exit code {code}) and starts again")
        try:
            await cluster.restart()
        except DeemsterError as fault:
            board.warn(str(fault))
            await asyncio.sleep(PAUSE_S)
