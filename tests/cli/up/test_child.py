"""A role as a child: restarted when it ends, given up when it says itself that it can't."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from deemster.cli.up.child import Child, in_words
from deemster.cli.up.display import Display
from deemster.cli.up.logs import Log
from deemster.domain.errors import Unavailable
from tests.waiting import until

ROLE = "settings"
"""A command that ends by itself, at once."""


class Listener(Display):
    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def say(self, text: str, style: str = "") -> None:
        self.heard.append(text)

    @property
    def restarts(self) -> list[str]:
        return [text for text in self.heard if "starts again" in text]


@pytest.fixture
def board() -> Listener:
    return Listener()


@pytest.fixture
async def log(tmp_path: Path, board: Listener) -> AsyncIterator[tuple[Log, int]]:
    async with Log.open(tmp_path / "logs" / "role.log", board.warn) as opened:
        yield opened


async def test_what_ends_is_started_again_until_it_is_told_to_end(
    board: Listener, log: tuple[Log, int]
) -> None:
    child = Child(ROLE, dict(os.environ), board, patience_s=5)
    async with asyncio.TaskGroup() as group:
        group.create_task(child.keep(*log))
        await until(lambda: len(board.restarts) >= 2)
        await child.end(asyncio.Event())
    assert board.restarts[0] == "settings ended (exit code 0) and starts again in 0.25 s"
    assert "starts again in 0.5 s" in board.restarts[1]
    assert "DEEMSTER_DATA_DIR" in log[0].path.read_text()


async def test_one_that_refuses_to_begin_is_given_up(
    board: Listener, log: tuple[Log, int]
) -> None:
    environment = {**os.environ, "DEEMSTER_SANDBOX_WITHOUT": "walls"}
    child = Child(ROLE, environment, board, patience_s=5)
    with pytest.raises(
        Unavailable, match=r"can't start \(deemster: The setting sandbox_without"
    ):
        await child.keep(*log)
    assert len(board.restarts) == 2


async def test_once_settled_it_is_never_given_up(board: Listener, log: tuple[Log, int]) -> None:
    environment = {**os.environ, "DEEMSTER_SANDBOX_WITHOUT": "walls"}
    child = Child(ROLE, environment, board, patience_s=5)
    child.settle()
    async with asyncio.TaskGroup() as group:
        group.create_task(child.keep(*log))
        await until(lambda: len(board.restarts) >= 4)
        await child.end(asyncio.Event())


async def test_one_that_waits_begins_when_all_has_settled(
    board: Listener, log: tuple[Log, int]
) -> None:
    first, last = (
        Child(ROLE, dict(os.environ), board, patience_s=5, waits=waits)
        for waits in (False, True)
    )
    async with asyncio.TaskGroup() as group:
        keeping = group.create_task(last.keep(*log))
        group.create_task(first.keep(*log))
        await until(lambda: board.restarts)
        assert not last.has_begun
        last.settle()
        await until(lambda: last.has_begun)
        await first.end(asyncio.Event())
        await last.end(asyncio.Event())
        await keeping


async def test_one_that_still_waits_can_be_ended(board: Listener, log: tuple[Log, int]) -> None:
    child = Child(ROLE, dict(os.environ), board, patience_s=5, waits=True)
    async with asyncio.TaskGroup() as group:
        group.create_task(child.keep(*log))
        await child.end(asyncio.Event())
    assert not child.has_begun


def test_how_it_ended_is_put_into_words() -> None:
    assert in_words(3) == "exit code 3"
    assert in_words(-9) == "SIGKILL"
    assert in_words(-99) == "signal 99"
