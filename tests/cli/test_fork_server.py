"""O4, X11: a process that the fork server makes is like one that was started as a program."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deemster.cli.exit_codes import ExitCode
from deemster.privileges.capabilities import read_status
from deemster.wiring.forked_process import ForkedProcess, ForkServerClient, open_fork_server
from tests.waiting import until

Environment = dict[str, str]


@pytest.fixture
def waiting(environment: Environment) -> Environment:
    """With these variables a relay waits for a database, which never comes."""
    return {**environment, "DEEMSTER_DATABASE_URL": "postgresql://127.0.0.1:1/none"}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@contextmanager
def serve() -> Iterator[ForkServerClient]:
    with open_fork_server([], os.environ, output=2) as client:
        yield client


def start(
    client: ForkServerClient, log: Path, arguments: list[str], environment: Environment
) -> ForkedProcess:
    with log.open("ab") as output:
        return client.start(arguments, environment, output.fileno())


async def start_relay(
    client: ForkServerClient, log: Path, environment: Environment
) -> ForkedProcess:
    """Returns when the relay handles signals: it has tried to reach the database."""
    process = start(client, log, ["relay"], environment)
    await until(lambda: "unavailable" in log.read_text(), why=log.read_text)
    return process


def read(log: Path) -> str:
    return log.read_text()


def words_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_text().rstrip("\0").split("\0")


def descriptors_of(pid: int) -> dict[int, Path]:
    return {int(each.name): each.readlink() for each in Path(f"/proc/{pid}/fd").iterdir()}


async def test_a_forked_role_is_like_a_started_one(waiting: Environment, log: Path) -> None:
    """Its command line, session, variables, descriptors and privileges are its own."""
    with serve() as client:
        process = await start_relay(client, log, waiting)
        server = int(read_status("PPid", process.pid))
        assert read_status("Threads", server) == "1"
        assert "deemster.cli.fork_server" in words_of(server)
        assert words_of(process.pid)[1:] == ["-m", "deemster", "relay"]
        assert os.getsid(process.pid) == process.pid
        assert read_status("NoNewPrivs", process.pid) == "1"
        assert int(read_status("SigBlk", process.pid), 16) == 0
        ours, theirs = descriptors_of(process.pid), descriptors_of(server)
        assert ours[0] == Path(os.devnull)
        assert ours[1] == ours[2] == log
        inherited = {ours[number] for number in ours if number > 2} & set(theirs.values())
        assert inherited <= {Path(os.devnull)}
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0


async def test_output_and_exit_code_are_those_of_the_command(
    environment: Environment, log: Path
) -> None:
    marked = {**environment, "DEEMSTER_PORT": "12345"}
    refused = {**environment, "DEEMSTER_SANDBOX_WITHOUT": "walls"}
    with serve() as client:
        first = start(client, log, ["settings"], marked)
        second = start(client, log, ["settings"], refused)
        assert await first.wait() == 0
        assert await second.wait() == ExitCode.UNABLE
    written = read(log)
    assert "12345" in written
    assert "The setting sandbox_without" in written


async def test_a_process_that_is_not_awaited_never_begins(
    environment: Environment, log: Path, tmp_path: Path
) -> None:
    with serve() as client:
        unwanted = start(client, tmp_path / "unwanted", ["settings"], environment)
        await unwanted.end_at_once()
        assert await start(client, log, ["settings"], environment).wait() == 0
    assert read(tmp_path / "unwanted") == ""


async def test_signals_for_all_processes_do_not_end_the_server(
    waiting: Environment, environment: Environment, log: Path
) -> None:
    """Q14: systemd sends SIGTERM to all processes, and the roles must have time to drain."""
    with serve() as client:
        process = await start_relay(client, log, waiting)
        server = int(read_status("PPid", process.pid))
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(server, number)
        assert await start(client, log, ["settings"], environment).wait() == 0
        assert process.returncode is None
        await process.end_at_once()
        assert process.returncode == -signal.SIGKILL


async def test_all_processes_end_with_the_server(waiting: Environment, log: Path) -> None:
    with serve() as client:
        process = await start_relay(client, log, waiting)
        os.kill(int(read_status("PPid", process.pid)), signal.SIGKILL)
        assert await process.wait() == -signal.SIGKILL
        await until(lambda: not Path(f"/proc/{process.pid}").exists())
        with pytest.raises(OSError, match=r"Broken pipe|Connection reset"):
            start(client, log, ["settings"], waiting)


async def test_a_server_that_can_not_start_is_an_error(
    environment: Environment, log: Path
) -> None:
    with open_fork_server(["none"], os.environ, os.open(os.devnull, os.O_WRONLY)) as client:
        process = start(client, log, ["settings"], environment)
        async with asyncio.timeout(60):
            await process.begun.wait()
        with pytest.raises(ChildProcessError):
            process.check_begun()
