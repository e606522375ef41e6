"""Forks a process for each role that a test asks for, after it has imported all roles once.

To import a role takes longer than most tests of it. The tests ask over a socket, which passes
the descriptors of the role's log and of a pipe; the pipe tells its pid and then how it ended.
"""

import importlib
import json
import os
import select
import signal
import socket
import sys
from contextlib import suppress

from deemster.cli.app import main
from deemster.wiring.process import die_with_parent

MODULES = (
    "cli.roles",
    "wiring.api",
    "wiring.relay",
    "wiring.worker",
    "wiring.keeper",
    "wiring.dispatcher",
)
MAX_REQUEST_BYTES = 1 << 17


def serve(control: socket.socket) -> None:
    """Returns in the process of a role, which then runs it; ends with the tests."""
    server = os.getpid()
    awake, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # or it would not wake the server
    signal.set_wakeup_fd(wake)
    pipes: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([control.fileno(), awake], [], [])
        if awake in ready:
            os.read(awake, 1 << 10)
            report_ended(pipes)
        if control.fileno() in ready:
            request, descriptors, _, _ = socket.recv_fds(control, MAX_REQUEST_BYTES, 2)
            if not request:
                sys.exit()
            log, pipe = descriptors
            pid = os.fork()
            if not pid:
                control.close()
                become_role(json.loads(request), log, server)
                return
            os.close(log)
            pipes[pid] = pipe
            write_line(pipe, pid)


def report_ended(pipes: dict[int, int]) -> None:
    while pipes:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        pipe = pipes.pop(pid)
        write_line(pipe, os.waitstatus_to_exitcode(status))
        os.close(pipe)


def write_line(pipe: int, number: int) -> None:
    with suppress(BrokenPipeError):  # the test has ended
        os.write(pipe, f"{number}\n".encode())


def become_role(request: dict[str, dict[str, str]], log: int, server: int) -> None:
    """Takes its own session, descriptors and environment, like a program that was started."""
    die_with_parent(server)
    signal.set_wakeup_fd(-1)
    os.setsid()
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["deemster", *request["arguments"]]


if __name__ == "__main__":
    for name in MODULES:
        importlib.import_module(f"deemster.{name}")
    serve(socket.socket(fileno=int(sys.argv[1])))
    main()
