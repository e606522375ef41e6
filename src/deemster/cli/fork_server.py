"""Imports what all roles need, then forks a process for each command that it is asked for.

`deemster up` runs this module as a program. It asks by packets on a socket: one with
descriptors starts a command, one without sends a signal to a started process. A pipe that came
with the command tells the process id, and later the exit code.
"""

import errno
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
from contextlib import suppress
from typing import Any

from deemster.cli.app import main as run_command
from deemster.cli.fast_imports import without_garbage_collection
from deemster.wiring.forked_process import MAX_DESCRIPTORS, MAX_PACKET_BYTES
from deemster.wiring.process import die_with_parent, show_arguments


class ForkServer:
    """Has neither threads nor an event loop, which a fork would damage."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._awake, self._wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._status: dict[int, int] = {}
        """Pipes to whoever asked, by the ids of the processes that run."""
        signal.signal(signal.SIGCHLD, lambda *_: None)  # or it would not wake this process
        signal.set_wakeup_fd(self._wake)

    def serve(self) -> None:
        """Returns only in a forked process, which must run its command then."""
        while True:
            ready, _, _ = select.select([self._control.fileno(), self._awake], [], [])
            if self._awake in ready:
                os.read(self._awake, 1 << 10)
                self._report_ended()
            if self._control.fileno() in ready:
                packet, descriptors, _, _ = socket.recv_fds(
                    self._control, MAX_PACKET_BYTES, MAX_DESCRIPTORS
                )
                if not packet:
                    sys.exit()
                if not descriptors:
                    self._send_signal(packet)
                elif self._fork(descriptors):
                    return

    def _fork(self, descriptors: list[int]) -> bool:
        """Whether this is the new process."""
        command, status, *others = descriptors
        server = os.getpid()
        pid = fork_for(status)
        if pid == 0:
            os.close(status)
            self._close()
            become(command, server, *others)
            return True
        for descriptor in (command, *others):
            os.close(descriptor)
        if pid is None:
            os.close(status)
        else:
            self._status[pid] = status
        return False

    def _send_signal(self, packet: bytes) -> None:
        """Only this process reaps the others, so no id can belong to a stranger here."""
        pid, number = map(int, packet.split())
        if pid in self._status:
            os.kill(pid, number)

    def _report_ended(self) -> None:
        while self._status:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            pipe = self._status.pop(pid)
            write_line(pipe, os.waitstatus_to_exitcode(status))
            os.close(pipe)

    def _close(self) -> None:
        """In a forked process: what belongs to the server and to its other processes."""
        signal.set_wakeup_fd(-1)
        self._control.close()
        for descriptor in (self._awake, self._wake, *self._status.values()):
            os.close(descriptor)


def fork_for(status: int) -> int | None:
    """None: no process can be started, or nobody waits for it any more."""
    try:
        os.write(status, b"\n")
        pid = os.fork()
    except BrokenPipeError:
        return None
    except OSError as fault:  # no memory or too many processes
        write_line(status, -(fault.errno or errno.EAGAIN))
        return None
    if pid:
        write_line(status, pid)
    return pid


def write_line(pipe: int, number: int) -> None:
    with suppress(BrokenPipeError):
        os.write(pipe, f"{number}\n".encode())


def become(command: int, server: int, output: int, launcher: int | None = None) -> None:
    """Makes this process like one that was started with these arguments and variables."""
    os.setsid()  # Ctrl-C is for the supervisor only
    for standard in (1, 2):
        os.dup2(output, standard)
    os.close(output)
    with os.fdopen(command, "rb") as file:
        file.seek(0)
        given: dict[str, Any] = json.load(file)
    os.environ.clear()  # noqa: TID251 - as the start of a program does
    os.environ.update(given["environment"])  # noqa: TID251
    arguments = ["--parent", str(server)]
    if launcher is not None:
        arguments += ["--launcher", str(launcher)]
    sys.argv = ["deemster", *arguments, *given["arguments"]]
    show_arguments([sys.executable, "-m", "deemster", *given["arguments"]])


def main() -> None:
    """Arguments: roles to import, the id of the parent, and the descriptor of the socket."""
    *roles, parent, control = sys.argv[1:]
    die_with_parent(int(parent))
    # systemd sends SIGTERM to all processes at once, and the roles must have time to end in
    # order. Every command unblocks these signals when it starts.
    signal.pthread_sigmask(
        signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT}
    )
    with without_garbage_collection():
        for name in ("cli.roles", *(f"wiring.{role}" for role in roles)):
            importlib.import_module(f"deemster.{name}")
    gc.freeze()  # garbage collection would copy the pages that all processes share
    ForkServer(socket.socket(fileno=int(control))).serve()
    run_command()


if __name__ == "__main__":
    main()
