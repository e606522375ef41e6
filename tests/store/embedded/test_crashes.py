"""After a crash of the server, its supervisor or initdb, the next start works."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest

from deemster.store.embedded import running_url, server_log
from deemster.store.embedded.data_directory import ClusterHome, lock_home, open_lock, try_lock
from deemster.store.embedded.launch import launch
from deemster.store.embedded.orphans import end_orphans, server_processes
from tests.named_process import NO_UTF8, process_named
from tests.services.clusters import place_cluster
from tests.services.postgres import OwnPostgres
from tests.store.embedded.conftest import ask, fast_cluster, is_alive, new_cluster, supervisor
from tests.waiting import until


async def test_a_killed_server_recovers_what_was_committed(tmp_path: Path) -> None:
    async with OwnPostgres(tmp_path) as postgres:
        await ask(postgres.url, "CREATE TABLE kept AS SELECT 42 AS answer")
        await postgres.kill()
        await postgres.start()
        assert await ask(postgres.url, "SELECT answer FROM kept") == 42
        await postgres.kill()
    async with fast_cluster(tmp_path) as cluster:
        assert await ask(cluster.url, "SELECT answer FROM kept") == 42


async def test_a_server_ends_with_its_killed_supervisor(tmp_path: Path) -> None:
    place_cluster(tmp_path)
    async with supervisor(tmp_path) as first:
        pid = int((await first.answer())["pid"])
        assert is_alive(pid)
        first.process.kill()
        await first.ended()
        await until(lambda: not is_alive(pid))
    async with fast_cluster(tmp_path) as cluster:
        assert await ask(cluster.url, "SELECT 1") == 1


async def test_a_start_right_after_the_kill_waits_for_the_old_server(tmp_path: Path) -> None:
    place_cluster(tmp_path)
    async with supervisor(tmp_path) as first:
        answer = await first.answer()
        await ask(answer["url"], "CREATE TABLE kept AS SELECT 42 AS answer")
        first.process.kill()
        await first.ended()
        async with fast_cluster(tmp_path) as cluster:
            assert not is_alive(int(answer["pid"]))
            assert await ask(cluster.url, "SELECT answer FROM kept") == 42


async def test_a_server_of_an_earlier_run_is_stopped_first(tmp_path: Path) -> None:
    """The server has no supervisor, so nothing else ends it."""
    async with fast_cluster(tmp_path):
        pass
    with lock_home(tmp_path) as home:
        lock = await end_orphans(home)
        with server_log.opened(home.log) as log:
            left = await launch(home, "postgres", ["--fsync=off"], lock, log)
        os.close(lock)
        await until(lambda: running_url(tmp_path) is not None)
    async with fast_cluster(tmp_path) as cluster:
        assert cluster.pid != left.pid
        assert await ask(cluster.url, "SELECT 1") == 1
    assert await left.wait() == 0


def test_a_process_of_another_user_with_any_name_does_not_stop_the_start(
    tmp_path: Path,
) -> None:
    """O7: programs choose their names, also those that are judged on this machine."""
    with process_named(NO_UTF8) as pid, lock_home(tmp_path) as home:
        assert pid not in server_processes(home)


async def test_a_backend_that_outlives_its_server_is_ended_first(tmp_path: Path) -> None:
    """A backend that is busy with a query does not notice that the server was killed."""
    async with OwnPostgres(tmp_path) as postgres:
        connection = await asyncpg.connect(postgres.url)
        backend = connection.get_server_pid()
        async with asyncio.TaskGroup() as group:
            busy = group.create_task(
                fail(connection, "SELECT count(*) FROM generate_series(1, 1e11)")
            )
            await busy_in_a_query(postgres.url, backend)
            await postgres.kill()
            assert is_alive(backend)
            await postgres.start()
            assert not is_alive(backend)
            await busy
        assert await ask(postgres.url, "SELECT 1") == 1


async def fail(connection: asyncpg.Connection, query: str) -> None:
    with pytest.raises(asyncpg.PostgresConnectionError):
        await connection.fetchval(query)


async def busy_in_a_query(url: str, backend: int) -> None:
    query = f"SELECT state FROM pg_stat_activity WHERE pid = {backend}"

    async def is_active() -> bool:
        return await ask(url, query) == "active"

    await until(is_active)


async def test_stale_pid_files_of_another_process_are_ignored(
    tmp_path: Path,
) -> None:
    """Postgres takes any process of the same user for a living server."""
    async with OwnPostgres(tmp_path / "other") as other:
        async with OwnPostgres(tmp_path / "mine") as mine:
            await mine.kill()
            home = tmp_path / "mine" / "postgres"
            for stale in ("cluster/postmaster.pid", "socket/.s.PGSQL.5432.lock"):
                lines = (home / stale).read_text().splitlines()
                (home / stale).write_text("\n".join([str(other.pid), *lines[1:]]) + "\n")
            await mine.start()
            assert await ask(mine.url, "SELECT 1") == 1
        assert await ask(other.url, "SELECT 1") == 1


async def test_an_unfinished_cluster_is_created_again(tmp_path: Path) -> None:
    """The supervisor is killed as soon as initdb has started to fill the directory."""
    half = tmp_path / "postgres" / "cluster.new"
    async with supervisor(tmp_path) as first:
        await until((half / "base").exists)
        first.process.kill()
        await first.ended()
    assert not (tmp_path / "postgres" / "cluster").exists()
    async with new_cluster(tmp_path) as cluster:
        assert await ask(cluster.url, "SELECT 1") == 1
    assert not half.exists()


async def test_a_cancelled_start_leaves_nothing_running(tmp_path: Path) -> None:
    """The start is cancelled during initdb, during the start and when the server answers."""
    for moment in (making, starting, answering):
        data_dir = tmp_path / moment.__name__
        async with asyncio.TaskGroup() as group:
            start = group.create_task(run_forever(data_dir))
            await until(moment(data_dir))
            start.cancel()
        with lock_home(data_dir) as home:
            await until(is_free(home))
        async with new_cluster(data_dir) as cluster:
            assert await ask(cluster.url, "SELECT 1") == 1


def making(data_dir: Path) -> Callable[[], bool]:
    return (data_dir / "postgres" / "cluster.new" / "base").exists


def starting(data_dir: Path) -> Callable[[], bool]:
    return (data_dir / "postgres" / "cluster").exists


def answering(data_dir: Path) -> Callable[[], bool]:
    return (data_dir / "postgres" / "socket" / ".s.PGSQL.5432").exists


def is_free(home: ClusterHome) -> Callable[[], bool]:
    def look() -> bool:
        lock = open_lock(home.path / "server.lock")
        try:
            return try_lock(lock)
        finally:
            os.close(lock)

    return look


async def run_forever(data_dir: Path) -> None:
    async with new_cluster(data_dir):
        await asyncio.Event().wait()


async def test_a_server_that_dies_is_noticed(tmp_path: Path) -> None:
    async with fast_cluster(tmp_path) as cluster, asyncio.TaskGroup() as group:
        waiting = group.create_task(cluster.wait())
        os.kill(cluster.pid, signal.SIGKILL)
        assert await waiting == -signal.SIGKILL
        await cluster.restart()
        assert await ask(cluster.url, "SELECT 1") == 1
