"""Starts commands of Deemster by fork from a process that has imported all roles already."""

import asyncio
import errno
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final

MAX_PACKET_BYTES: Final = 64
MAX_DESCRIPTORS: Final = 4
"""The command, the status pipe, the output and the launcher's socket."""
SERVER_MODULE: Final = "deemster.cli.fork_server"


class ForkedProcess:
    """Like `asyncio.subprocess.Process`, as far as a supervisor needs it."""

    def __init__(self, control: socket.socket, status: int) -> None:
        self.pid = 0
        self.returncode: int | None = None
        self.begun = asyncio.Event()
        """The process runs, or could not be started."""
        self._control = control
        self._status = status
        self._ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(status, self._read)

    def check_begun(self) -> None:
        """Raises OSError if the process could not be started."""
        if self.pid <= 0:
            number = -self.pid or errno.ECHILD
            raise OSError(number, os.strerror(number))

    async def wait(self) -> int:
        await self._ended.wait()
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.pid > 0 and self.returncode is None:
            with suppress(OSError):  # the server has ended, and its processes with it
                self._control.send(f"{self.pid} {int(number)}".encode())

    async def end_at_once(self) -> None:
        """Kills the process; a process that has not begun never does."""
        if self.begun.is_set():
            self.send_signal(signal.SIGKILL)
            await self.wait()
        else:
            self._close()

    def _read(self) -> None:
        read = os.read(self._status, MAX_PACKET_BYTES)
        for number in map(int, read.split()):
            if self.pid == 0:
                self.pid = number
            else:
                self.returncode = number
        if not read:
            self._close()
            if self.returncode is None:  # the server has ended, and its processes with it
                self.returncode = -signal.SIGKILL
            self._ended.set()
        if self.pid != 0 or not read:
            self.begun.set()

    def _close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._status)
        os.close(self._status)


class ForkServerClient:
    def __init__(self, control: socket.socket) -> None:
        self._control = control

    def start(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        output: int,
        launcher: int | None = None,
    ) -> ForkedProcess:
        """Starts `deemster ARGUMENTS` as soon as the server has imported all roles.

        The process inherits only `output`, as its standard output and error, and `launcher`.
        Raises OSError if the server has ended.
        """
        command = {"arguments": list(arguments), "environment": dict(environment)}
        ours, theirs = os.pipe()
        file = os.memfd_create("command", os.MFD_CLOEXEC)
        try:
            os.write(file, json.dumps(command).encode())
            descriptors = [file, theirs, output, *([] if launcher is None else [launcher])]
            socket.send_fds(self._control, [b"start"], descriptors)
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(file)
            os.close(theirs)
        return ForkedProcess(self._control, ours)


@contextmanager
def open_fork_server(
    roles: Iterable[str], environment: Mapping[str, str], output: int
) -> Iterator[ForkServerClient]:
    """Runs a server that has imported these roles; all of its processes end with the block.

    Call this in the main thread: the server ends with the thread that has started it.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        with theirs:
            server = subprocess.Popen(
                [
                    *(sys.executable, "-P", "-m", SERVER_MODULE),
                    *(*roles, str(os.getpid()), str(theirs.fileno())),
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=dict(environment),
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        try:
            yield ForkServerClient(ours)
        finally:
            server.kill()
            server.wait()
