"""A service of a test's own."""

import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cli.up.service import Up, all_gone


@pytest.fixture
async def up(tmp_path: Path) -> AsyncIterator[Up]:
    """Not started yet; nothing of it is left afterwards."""
    service = Up(tmp_path)
    yield service
    if service._process is not None:
        family = service.family()
        if service.process.poll() is None:
            service.process.send_signal(signal.SIGKILL)
            service.process.wait()
        await all_gone(family)
