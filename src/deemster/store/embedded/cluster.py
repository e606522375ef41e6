"""Runs the embedded Postgres: made on first use, handed out when it answers, then stopped."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import asyncpg

from deemster.domain.errors import Unavailable
from deemster.store.embedded import endpoint, server_log
from deemster.store.embedded.data_directory import Home, claimed, make_half, make_whole
from deemster.store.embedded.launch import failure, launch
from deemster.store.embedded.orphans import take_over

INITDB = (
    f"--username={endpoint.ROLE}",
    "--auth-local=trust",
    "--auth-host=reject",
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--data-checksums",
    "--no-instructions",
)
SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "port": "5432",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "random_page_cost": "1.1",
    "max_parallel_workers_per_gather": "0",  # the other cores judge
    "timezone": "UTC",
    "log_timezone": "UTC",
}
"""Over the server's own defaults, among them fsync and synchronous_commit."""

START_S = 300
"""Recovery after a crash can take minutes."""
NOT_YET = (
    FileNotFoundError,
    ConnectionError,
    TimeoutError,
    asyncpg.CannotConnectNowError,
    asyncpg.ConnectionDoesNotExistError,
)
FAST_S, IMMEDIATE_S = 60.0, 10.0
PACE_S = 0.01


class Cluster:
    def __init__(self, home: Home, settings: Mapping[str, str]) -> None:
        self.url = endpoint.url_of(home.socket)
        self._home = home
        self._settings = {**SETTINGS, **settings}
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    async def start(self) -> None:
        lock = await take_over(self._home)
        try:
            if not self._home.cluster.exists():
                await self._make(lock)
            server_log.rotate(self._home.log)
            arguments = [f"--{name}={value}" for name, value in self._settings.items()]
            with server_log.opened(self._home.log) as log:
                self._process = await launch(self._home, "postgres", arguments, lock, log)
        finally:
            # From here on the server and its children hold it, and nobody else.
            os.close(lock)
        try:
            async with asyncio.timeout(START_S):
                await self._answer(self._process)
        except TimeoutError:
            await self.stop()
            raise Unavailable(
                f"The embedded Postgres did not answer within {START_S} s:"
                f" see {self._home.log}, and start again."
            ) from None
        except BaseException:
            await self.stop()
            raise
        server_log.watch(self._home.log, self._process)

    async def wait(self) -> int:
        """Returns when the server process has ended, with its exit code."""
        assert self._process is not None
        return await self._process.wait()

    async def stop(self) -> None:
        """Cuts the connections and ends; what is committed is on disk either way."""
        process = self._process
        if process is None:
            return
        for number, patience_s in (
            (signal.SIGINT, FAST_S),
            (signal.SIGQUIT, IMMEDIATE_S),
            (signal.SIGKILL, IMMEDIATE_S),
        ):
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.send_signal(number)
            with suppress(TimeoutError):
                async with asyncio.timeout(patience_s):
                    await process.wait()
                    return

    async def restart(self) -> None:
        """Starts anew, also when the server has died by itself."""
        await self.stop()
        await self.start()

    async def _make(self, lock: int) -> None:
        await asyncio.to_thread(make_half, self._home)
        arguments = list(INITDB)
        if self._settings.get("fsync") == "off":
            arguments.append("--no-sync")
        with server_log.opened(self._home.log) as log:
            process = await launch(self._home, "initdb", arguments, lock, log)
            try:
                async with asyncio.timeout(START_S):
                    code = await process.wait()
            except BaseException:
                with suppress(ProcessLookupError):
                    process.kill()
                raise
        if code != 0:
            raise failure(self._home, code)
        await asyncio.to_thread(make_whole, self._home)

    async def _answer(self, process: asyncio.subprocess.Process) -> None:
        """Waits until the server takes connections to our database."""
        while True:
            try:
                connection = await asyncpg.connect(self.url, timeout=START_S)
            except asyncpg.InvalidCatalogNameError:
                await self._create_database()
            except NOT_YET:
                if process.returncode is not None:
                    raise failure(self._home, process.returncode) from None
                await asyncio.sleep(PACE_S)
            else:
                await connection.close()
                return

    async def _create_database(self) -> None:
        maintenance = endpoint.url_of(self._home.socket, "postgres")
        connection = await asyncpg.connect(maintenance, timeout=START_S)
        try:
            await connection.execute(f"CREATE DATABASE {endpoint.DATABASE}")
        finally:
            await connection.close()


@asynccontextmanager
async def run_cluster(
    data_dir: Path, *, settings: Mapping[str, str] = {}
) -> AsyncIterator[Cluster]:
    """A running server on DATA_DIR/postgres; settings go over those of postgresql.conf."""
    with claimed(data_dir) as home:
        cluster = Cluster(home, settings)
        try:
            await cluster.start()
            yield cluster
        finally:
            await cluster.stop()
            endpoint.remove_directory(home.path, home.socket)
