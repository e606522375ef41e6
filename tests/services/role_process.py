"""A role in a process that fork_server.py has made."""

import asyncio
import atexit
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Self

ROOT = Path(__file__).parents[2]


class RoleProcess:
    """Like `asyncio.subprocess.Process`, as far as the tests need it."""

    def __init__(self, pid: int, pipe: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._pipe = pipe
        self._ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(pipe, self._read_end)

    @classmethod
    async def start(cls, role: str, environment: Mapping[str, str], log: Path) -> Self:
        """The first one waits for the imports."""
        return cls(*await asyncio.to_thread(fork, fork_server(), role, environment, log))

    def terminate(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)

    async def wait(self) -> int:
        await self._ended.wait()
        assert self.returncode is not None
        return self.returncode

    def _read_end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._pipe)
        self.returncode = read_number(self._pipe)
        os.close(self._pipe)
        self._ended.set()


def fork(
    server: socket.socket, role: str, environment: Mapping[str, str], log: Path
) -> tuple[int, int]:
    """The pid of a new process, and a pipe that will tell its exit code."""
    request = json.dumps({"arguments": [role], "environment": dict(environment)}).encode()
    ours, theirs = os.pipe()
    with log.open("ab") as file:
        socket.send_fds(server, [request], [file.fileno(), theirs])
    os.close(theirs)
    return read_number(ours), ours


def read_number(pipe: int) -> int:
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(pipe, 1)
        assert byte, "The fork server has ended."
        line += byte
    return int(line)


@cache
def fork_server() -> socket.socket:
    """One for all tests of this process; it ends with it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.services.fork_server", str(theirs.fileno())],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        pass_fds=[theirs.fileno()],
        start_new_session=True,
    )
    theirs.close()

    def end() -> None:
        ours.close()
        server.wait()

    atexit.register(end)
    return ours
