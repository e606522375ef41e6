"""A child process is restarted when it ends, unless it can't start at all."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from deemster.cli.up.child import Child, describe_end
from deemster.cli.up.display import Display
from deemster.cli.up.logs import Log
from deemster.domain.errors import Unavailable
from deemster.privileges.capabilities import read_status
from deemster.wiring.forked_process import open_fork_server
from tests.waiting import until

ROLE = "settings"
"""A command that ends at once."""


class RecordingDisplay(Display):
    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def say(self, text: str, style: str = "") -> None:
        self.messages.append(text)

    @property
    def restarts(self) -> list[str]:
        return [text for text in self.messages if "is restarted" in text]


@pytest.fixture
def display() -> RecordingDisplay:
    return RecordingDisplay()


@pytest.fixture
async def log(tmp_path: Path, display: RecordingDisplay) -> AsyncIterator[tuple[Log, int]]:
    async with Log.open(tmp_path / "logs" / "role.log", display.warn) as opened:
        yield opened


async def test_a_role_is_restarted_until_it_is_asked_to_end(
    display: RecordingDisplay, log: tuple[Log, int]
) -> None:
    child = Child(ROLE, dict(os.environ), display, timeout_s=5)
    async with asyncio.TaskGroup() as group:
        group.create_task(child.keep(*log))
        await until(lambda: len(display.restarts) >= 2)
        await child.end(asyncio.Event())
    assert display.restarts[0] == "settings ended (exit code 0) and is restarted in 0.25 s"
    assert "is restarted in 0.5 s" in display.restarts[1]
    assert "DEEMSTER_DATA_DIR" in log[0].path.read_text()


async def test_only_the_first_process_of_a_role_is_forked(
    display: RecordingDisplay, log: tuple[Log, int], tmp_path: Path
) -> None:
    """A restarted role has memory of its own, whatever ended it."""
    environment = {
        **os.environ,
        "DEEMSTER_DATA_DIR": str(tmp_path / "data"),
        "DEEMSTER_WORK_DIR": str(tmp_path / "work"),
        "DEEMSTER_DATABASE_URL": "postgresql://127.0.0.1:1/none",
    }
    with open_fork_server([], os.environ, output=2) as fork_server:
        child = Child("relay", environment, display, timeout_s=5, fork_server=fork_server)
        parents: dict[int, int] = {}

        def new_pid() -> int | None:
            return None if child.pid in parents else child.pid

        async with asyncio.TaskGroup() as group:
            group.create_task(child.keep(*log))
            for _ in range(2):
                pid = await until(new_pid)
                assert pid is not None
                parents[pid] = int(read_status("PPid", pid))
                os.kill(pid, signal.SIGKILL)
            await child.end(asyncio.Event())
    first, second = parents.values()
    assert first != os.getpid()
    assert second == os.getpid()
    assert "relay ended (SIGKILL) and is restarted" in display.restarts[0]


async def test_a_role_whose_fork_server_has_ended_is_started_without_it(
    display: RecordingDisplay, log: tuple[Log, int]
) -> None:
    with open_fork_server([], os.environ, output=2) as fork_server:
        pass
    child = Child(ROLE, dict(os.environ), display, timeout_s=5, fork_server=fork_server)
    async with asyncio.TaskGroup() as group:
        group.create_task(child.keep(*log))
        await until(lambda: len(display.restarts) >= 2)
        await child.end(asyncio.Event())
    assert "not started" in display.restarts[0]
    assert "settings ended (exit code 0)" in display.restarts[1]


async def test_a_role_that_can_not_start_is_an_error(
    display: RecordingDisplay, log: tuple[Log, int]
) -> None:
    environment = {**os.environ, "DEEMSTER_SANDBOX_WITHOUT": "walls"}
    child = Child(ROLE, environment, display, timeout_s=5)
    with pytest.raises(
        Unavailable, match=r"can't start \(deemster: The setting sandbox_without"
    ):
        await child.keep(*log)
    assert len(display.restarts) == 2


async def test_a_role_that_has_settled_is_always_restarted(
    display: RecordingDisplay, log: tuple[Log, int]
) -> None:
    environment = {**os.environ, "DEEMSTER_SANDBOX_WITHOUT": "walls"}
    child = Child(ROLE, environment, display, timeout_s=5)
    child.settle()
    async with asyncio.TaskGroup() as group:
        group.create_task(child.keep(*log))
        await until(lambda: len(display.restarts) >= 4)
        await child.end(asyncio.Event())


async def test_a_role_that_waits_starts_after_settling(
    display: RecordingDisplay, log: tuple[Log, int]
) -> None:
    first, last = (
        Child(ROLE, dict(os.environ), display, timeout_s=5, waits=waits)
        for waits in (False, True)
    )
    async with asyncio.TaskGroup() as group:
        keeping = group.create_task(last.keep(*log))
        group.create_task(first.keep(*log))
        await until(lambda: display.restarts)
        assert not last.has_begun
        last.settle()
        await until(lambda: last.has_begun)
        await first.end(asyncio.Event())
        await last.end(asyncio.Event())
        await keeping


async def test_a_role_that_still_waits_can_be_ended(
    display: RecordingDisplay, log: tuple[Log, int]
) -> None:
    child = Child(ROLE, dict(os.environ), display, timeout_s=5, waits=True)
    async with asyncio.TaskGroup() as group:
        group.create_task(child.keep(*log))
        await child.end(asyncio.Event())
    assert not child.has_begun


def test_the_end_of_a_process_is_described() -> None:
    assert describe_end(3) == "exit code 3"
    assert describe_end(-9) == "SIGKILL"
    assert describe_end(-99) == "signal 99"
