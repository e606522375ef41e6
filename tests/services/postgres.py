"""A private Postgres for a test."""

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from deemster.store.embedded import Cluster, run_cluster
from tests.services.clusters import place_cluster

HASTY = {
    "autovacuum": "off",
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "500",
    "max_wal_size": "256MB",
}
"""For data that nobody will miss."""


class OwnPostgres:
    """Keeps its URL and its data when it is restarted."""

    def __init__(self, data_dir: Path, settings: Mapping[str, str] = HASTY) -> None:
        self._data_dir = data_dir
        self._settings = settings
        self._stack = AsyncExitStack()
        self._cluster: Cluster | None = None

    @property
    def cluster(self) -> Cluster:
        assert self._cluster is not None, "not started yet"
        return self._cluster

    @property
    def url(self) -> str:
        return self.cluster.url

    @property
    def pid(self) -> int:
        return self.cluster.pid

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(place_cluster, self._data_dir)
        running = run_cluster(self._data_dir, settings=self._settings)
        self._cluster = await self._stack.enter_async_context(running)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    async def start(self) -> None:
        await self.cluster.start()

    async def stop(self) -> None:
        await self.cluster.stop()

    async def restart(self) -> None:
        await self.cluster.restart()

    async def kill(self) -> None:
        """As a crash does it: its children notice and end by themselves."""
        os.kill(self.pid, signal.SIGKILL)
        await self.cluster.wait()


def with_database(url: str, name: str) -> str:
    parts = urlsplit(url)
    # urlunsplit would drop the empty host, and then it is no such URL any more.
    return f"{parts.scheme}://{parts.netloc}/{name}?{parts.query}"
