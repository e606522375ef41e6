"""Creates the embedded Postgres on first use, starts it and stops it."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import asyncpg

from deemster.domain.errors import Unavailable
from deemster.store.embedded import endpoint, server_log
from deemster.store.embedded.access import write_access_files
from deemster.store.embedded.data_directory import (
    ClusterHome,
    finish_cluster,
    lock_home,
    make_new_cluster,
)
from deemster.store.embedded.launch import failure, launch
from deemster.store.embedded.orphans import end_orphans

INITDB = (
    f"--username={endpoint.OWNER}",
    "--auth-local=peer",
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
    "max_parallel_workers_per_gather": "0",  # the other cores are for judging
    "timezone": "UTC",
    "log_timezone": "UTC",
}
"""These override the server's defaults; fsync and synchronous_commit stay on."""

START_S = 300
"""Recovery after a crash can take minutes."""
NOT_READY_ERRORS = (
    FileNotFoundError,
    ConnectionError,
    TimeoutError,
    asyncpg.CannotConnectNowError,
    asyncpg.ConnectionDoesNotExistError,
)
FAST_STOP_S, IMMEDIATE_STOP_S = 60.0, 10.0
POLL_S = 0.01


class Cluster:
    def __init__(self, home: ClusterHome, settings: Mapping[str, str]) -> None:
        self.url = endpoint.url_of(home.socket)
        """For the owner of the database."""
        self.application_url = endpoint.url_of(home.socket, role=endpoint.APPLICATION)
        """For the service, which may read and write rows, and no more."""
        self._home = home
        self._settings = {**SETTINGS, **settings}
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    async def start(self) -> None:
        lock = await end_orphans(self._home)
        try:
            if not self._home.cluster.exists():
                await self._create(lock)
            await asyncio.to_thread(write_access_files, self._home)
            server_log.rotate(self._home.log)
            arguments = [f"--{name}={value}" for name, value in self._settings.items()]
            with server_log.opened(self._home.log) as log:
                self._process = await launch(self._home, "postgres", arguments, lock, log)
        finally:
            # From here on only the server and its children hold the lock.
            os.close(lock)
        try:
            async with asyncio.timeout(START_S):
                await self._wait_until_ready(self._process)
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
        """Waits until the server process ends and returns its exit code."""
        assert self._process is not None
        return await self._process.wait()

    async def stop(self) -> None:
        """Closes the connections and ends; committed data is on disk in any case."""
        process = self._process
        if process is None:
            return
        for number, timeout_s in (
            (signal.SIGINT, FAST_STOP_S),
            (signal.SIGQUIT, IMMEDIATE_STOP_S),
            (signal.SIGKILL, IMMEDIATE_STOP_S),
        ):
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.send_signal(number)
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await process.wait()
                    return

    async def restart(self) -> None:
        """Works also if the server has died."""
        await self.stop()
        await self.start()

    async def _create(self, lock: int) -> None:
        await asyncio.to_thread(make_new_cluster, self._home)
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
        await asyncio.to_thread(finish_cluster, self._home)

    async def _wait_until_ready(self, process: asyncio.subprocess.Process) -> None:
        while True:
            try:
                connection = await asyncpg.connect(self.url, timeout=START_S)
            except asyncpg.InvalidCatalogNameError:
                await self._create_database()
            except NOT_READY_ERRORS:
                if process.returncode is not None:
                    raise failure(self._home, process.returncode) from None
                await asyncio.sleep(POLL_S)
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
    """Runs a server on DATA_DIR/postgres; `settings` override postgresql.conf."""
    with lock_home(data_dir) as home:
        cluster = Cluster(home, settings)
        try:
            await cluster.start()
            yield cluster
        finally:
            await cluster.stop()
            endpoint.remove_directory(home.path, home.socket)
