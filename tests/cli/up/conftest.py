"""Fixtures with a `deemster up` of the test's or the module's own."""

import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND
from tests.cli.up.service import Up, all_gone


@pytest.fixture
async def up(tmp_path: Path) -> AsyncIterator[Up]:
    """It is not started yet."""
    async with left_without_processes(tmp_path) as service:
        yield service


@pytest.fixture(scope="module")
async def kept_up(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Up]:
    """Each test starts it, and ends it; its data stays."""
    async with left_without_processes(tmp_path_factory.mktemp("up")) as service:
        yield service


@asynccontextmanager
async def left_without_processes(
    directory: Path, command: Sequence[str] = COMMAND
) -> AsyncIterator[Up]:
    """At the end all of its processes must be gone."""
    service = Up(directory, command)
    yield service
    if service._process is not None:
        processes = service.processes()
        if service.process.poll() is None:
            service.process.send_signal(signal.SIGKILL)
            service.process.wait()
        await all_gone(processes)
