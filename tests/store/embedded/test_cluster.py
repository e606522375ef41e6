"""The embedded Postgres is created, started, stopped and started again."""

import asyncio
import os
import signal
import stat
from pathlib import Path

import asyncpg
import psycopg
import pytest
import uvloop

from deemster.domain.errors import Refused, Unavailable
from deemster.store.embedded import APPLICATION, program, run_cluster, running_url, server_log
from deemster.store.embedded.endpoint import MAX_PATH_BYTES
from deemster.store.grants import create_application
from deemster.store.migrations import migrate
from tests.services.clusters import place_cluster
from tests.services.postgres import HASTY, OwnPostgres
from tests.store.embedded.conftest import ask, fast_cluster, new_cluster
from tests.waiting import until


async def test_by_default_commits_are_on_disk_and_pages_have_checksums(tmp_path: Path) -> None:
    wanted = {
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "data_checksums": "on",
        "server_encoding": "UTF8",
        "max_connections": "200",
        "TimeZone": "UTC",
    }
    async with run_cluster(tmp_path) as cluster:
        found = {name: await ask(cluster.url, f"SHOW {name}") for name in wanted}
        order = "SELECT datlocale FROM pg_database WHERE datname = current_database()"
        assert await ask(cluster.url, order) == "C.UTF-8"
    assert found == wanted


async def test_it_listens_on_no_network(tmp_path: Path) -> None:
    async with fast_cluster(tmp_path) as cluster:
        assert await ask(cluster.url, "SHOW listen_addresses") == ""
        assert not sockets(cluster.pid) & internet_sockets()


def sockets(pid: int) -> set[str]:
    links = [str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()]
    found = {link[len("socket:[") : -1] for link in links if link.startswith("socket:[")}
    assert found
    return found


def internet_sockets() -> set[str]:
    tables = [Path(f"/proc/net/{name}") for name in ("tcp", "tcp6", "udp", "udp6")]
    lines = [line for path in tables for line in path.read_text().splitlines()[1:]]
    return {line.split()[9] for line in lines}


async def test_both_drivers_and_psql_connect_by_the_url(tmp_path: Path) -> None:
    data_dir = tmp_path / "with space & co=100%?"
    async with new_cluster(data_dir) as cluster:
        assert await ask(cluster.url, "SELECT current_database()") == "deemster"
        async with await psycopg.AsyncConnection.connect(cluster.url) as connection:
            assert connection.info.dbname == "deemster"
        psql = await asyncio.create_subprocess_exec(
            *(program("psql"), cluster.url, "-XAtc", "SELECT current_user"),
            env={**os.environ, "PGPORT": "1", "PGHOST": "/nowhere"},
            stdout=asyncio.subprocess.PIPE,
        )
        output, _ = await psql.communicate()
    assert (psql.returncode, output) == (0, b"deemster\n")


async def test_data_outlives_a_stop(tmp_path: Path) -> None:
    async with fast_cluster(tmp_path) as cluster:
        await ask(cluster.url, "CREATE TABLE kept AS SELECT 42 AS answer")
    async with fast_cluster(tmp_path) as cluster:
        assert await ask(cluster.url, "SELECT answer FROM kept") == 42


async def test_the_running_url_is_known_only_while_the_server_runs(tmp_path: Path) -> None:
    assert running_url(tmp_path) is None
    async with fast_cluster(tmp_path) as cluster:
        assert running_url(tmp_path) == cluster.url
        await cluster.stop()
        assert running_url(tmp_path) is None
    assert running_url(tmp_path) is None


async def test_a_stop_does_not_wait_for_clients(tmp_path: Path) -> None:
    async with fast_cluster(tmp_path) as cluster:
        connection = await asyncpg.connect(cluster.url)
        await connection.execute("BEGIN; CREATE TABLE open_transaction ()")
        await cluster.stop()
        assert await cluster.wait() == 0
        assert connection.is_closed()
        await cluster.start()
        assert await ask(cluster.url, "SELECT to_regclass('open_transaction')") is None


async def test_a_restart_keeps_url_and_data(tmp_path: Path) -> None:
    async with OwnPostgres(tmp_path) as postgres:
        await ask(postgres.url, "CREATE TABLE kept AS SELECT 42 AS answer")
        before = postgres.pid, postgres.url
        await postgres.restart()
        assert postgres.pid != before[0]
        assert postgres.url == before[1]
        assert await ask(postgres.url, "SELECT answer FROM kept") == 42


async def test_settings_override_the_defaults(tmp_path: Path) -> None:
    place_cluster(tmp_path)
    async with run_cluster(tmp_path, settings={**HASTY, "work_mem": "7MB"}) as cluster:
        assert await ask(cluster.url, "SHOW work_mem") == "7MB"


async def test_a_wrong_setting_is_reported_with_the_servers_message(tmp_path: Path) -> None:
    place_cluster(tmp_path)
    with pytest.raises(Unavailable, match="no_such_thing"):
        async with run_cluster(tmp_path, settings={**HASTY, "no_such_thing": "1"}):
            pytest.fail("it started")
    async with fast_cluster(tmp_path) as cluster:
        assert await ask(cluster.url, "SELECT 1") == 1


async def test_a_missing_database_is_created(tmp_path: Path) -> None:
    """As after a kill between initdb and CREATE DATABASE."""
    async with fast_cluster(tmp_path) as cluster:
        other = cluster.url.replace("/deemster?", "/postgres?")
        await ask(other, "DROP DATABASE deemster")
    async with fast_cluster(tmp_path) as cluster:
        assert await ask(cluster.url, "SELECT current_database()") == "deemster"


async def test_a_second_supervisor_is_refused_with_the_pid_of_the_first(
    tmp_path: Path,
) -> None:
    async with fast_cluster(tmp_path) as cluster:
        with pytest.raises(Refused, match=rf"process {os.getpid()}\b"):
            async with fast_cluster(tmp_path):
                pytest.fail("two at once")
        assert await ask(cluster.url, "SELECT 1") == 1


async def test_another_major_version_is_refused_and_not_changed(tmp_path: Path) -> None:
    async with fast_cluster(tmp_path):
        pass
    version = tmp_path / "postgres" / "cluster" / "PG_VERSION"
    version.write_text("16\n")
    with pytest.raises(Refused, match=r"PostgreSQL 16.*PostgreSQL 18.*dump"):
        async with fast_cluster(tmp_path):
            pytest.fail("it started")
    version.write_text("18\n")
    async with fast_cluster(tmp_path) as cluster:
        assert await ask(cluster.url, "SELECT 1") == 1


async def test_a_directory_without_a_database_is_not_overwritten(tmp_path: Path) -> None:
    cluster = tmp_path / "postgres" / "cluster"
    cluster.mkdir(parents=True)
    (cluster / "precious").touch()
    if os.geteuid() == 0:
        os.chown(cluster, 65534, 65534)
    with pytest.raises(Refused, match="PG_VERSION is missing"):
        async with new_cluster(tmp_path):
            pytest.fail("it started")
    assert (cluster / "precious").exists()


async def test_a_long_path_moves_the_socket_to_a_private_directory(
    tmp_path: Path,
) -> None:
    data_dir = tmp_path / ("deep" * 20) / ("deeper" * 20)
    async with new_cluster(data_dir) as cluster:
        assert await ask(cluster.url, "SELECT 1") == 1
        assert running_url(data_dir) == cluster.url
        link = data_dir / "postgres" / "socket"
        directory = link.readlink()
        assert len(os.fsencode(directory)) < MAX_PATH_BYTES / 2
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        assert directory.stat().st_uid == (data_dir / "postgres" / "cluster").stat().st_uid
        os.kill(cluster.pid, signal.SIGKILL)
        await cluster.wait()
    assert not directory.exists()
    assert not link.is_symlink()


async def test_a_socket_directory_of_another_user_is_not_used(
    tmp_path: Path,
) -> None:
    data_dir = tmp_path / ("deep" * 20) / ("deeper" * 20)
    foreign = tmp_path / "foreign"
    foreign.mkdir(mode=0o755)
    (data_dir / "postgres").mkdir(parents=True)
    (data_dir / "postgres" / "socket").symlink_to(foreign)
    async with fast_cluster(data_dir) as cluster:
        assert await ask(cluster.url, "SELECT 1") == 1
        assert (data_dir / "postgres" / "socket").readlink() != foreign
    assert not list(foreign.iterdir())


async def test_the_log_is_trimmed_while_the_server_writes_to_it(tmp_path: Path) -> None:
    log = tmp_path / "postgres" / "log"
    async with fast_cluster(tmp_path) as cluster:
        with log.open("ab") as file:
            file.write(b"x" * (server_log.MAX_BYTES + 1))
        server_log.trim(log)
        with pytest.raises(asyncpg.UndefinedTableError):
            await ask(cluster.url, "SELECT * FROM nowhere_to_be_found")
        await until(lambda: "nowhere_to_be_found" in log.read_text())
        assert log.stat().st_size < 10_000
        assert log.with_name("log.1").stat().st_size <= server_log.MAX_BYTES


def test_it_runs_under_uvloop_too(tmp_path: Path) -> None:
    async def main() -> object:
        async with new_cluster(tmp_path) as cluster:
            await cluster.restart()
            return await ask(cluster.url, "SELECT 1")

    assert uvloop.run(main()) == 1


def test_a_missing_program_is_refused() -> None:
    assert program("pg_dump").is_file()
    with pytest.raises(Refused, match="pg_nothing"):
        program("pg_nothing")


async def test_a_cluster_that_trusted_everybody_is_mended_at_the_next_start(
    tmp_path: Path,
) -> None:
    """X11: a data directory of an earlier version, whose queue belonged to the owner."""
    async with fast_cluster(tmp_path) as cluster:
        owner = await asyncpg.connect(cluster.url)
        await owner.execute("DROP ROLE IF EXISTS deemster_app")
        await owner.execute("CREATE SCHEMA queue_dev; CREATE TABLE queue_dev.job ()")
        await owner.execute("CREATE TABLE precious (n int); INSERT INTO precious VALUES (1)")
        await owner.close()
    hba = tmp_path / "postgres" / "cluster" / "pg_hba.conf"
    hba.write_text("local all all trust\n")
    async with fast_cluster(tmp_path) as cluster:
        assert "trust" not in hba.read_text()
        for _ in range(2):
            await create_application(cluster.url, APPLICATION)
            await migrate(cluster.url, application=APPLICATION)
        service = await asyncpg.connect(cluster.application_url)
        assert await service.fetchval("SELECT n FROM precious") == 1
        await service.execute("CREATE SCHEMA queue_dev")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await service.execute("DROP TABLE precious")
        await service.close()
