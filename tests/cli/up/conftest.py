"""A fixture with a `deemster up` of the test's own."""

import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cli.up.service import Up, all_gone


@pytest.fixture
async def up(tmp_path: Path) -> AsyncIterator[Up]:
    """It is not started yet; after the test all of its processes must be gone."""
    service = Up(tmp_path)
    yield service
    if service._process is not None:
        processes = service.processes()
        if service.process.poll() is None:
            service.process.send_signal(signal.SIGKILL)
            service.process.wait()
        await all_gone(processes)
