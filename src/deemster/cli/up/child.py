"""Runs one role as a child process, restarts it when it dies, and ends it on request."""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final

from deemster.cli.exit_codes import ExitCode
from deemster.cli.up.display import Display
from deemster.cli.up.logs import Log
from deemster.domain.errors import Unavailable
from deemster.privileges.capabilities import (
    Capability,
    give_nothing_to_children,
    give_to_children,
    held,
)
from deemster.sandbox.launched_runner import launcher_in_use
from deemster.wiring.forked_process import ForkedProcess, ForkServerClient

LISTENS: Final = "api"
RUNS_PROGRAMS: Final = "worker"
FIRST_PAUSE_S: Final = 0.25
LONGEST_PAUSE_S: Final = 30.0
SETTLED_S: Final = 30.0
"""A role that ran for this long is well: after its end the pauses start anew."""
MAX_FAILED_STARTS: Final = 3
"""Starts in a row that ended with `ExitCode.UNABLE`."""
INTERRUPT_TIMEOUT_S: Final = 10.0


class Child:
    def __init__(
        self,
        role: str,
        environment: Mapping[str, str],
        display: Display,
        *,
        timeout_s: float,
        name: str | None = None,
        waits: bool = False,
        fork_server: ForkServerClient | None = None,
    ) -> None:
        """A child that `waits` is started after `settle` was called. Its name is that of its
        role, unless there are several.

        The fork server, if there is one, starts the first process of the role.
        """
        self.role = role
        self.name = name or role
        self._fork_server = fork_server
        self._settled = asyncio.Event()
        self._waits = waits
        self._environment = environment
        self._display = display
        self._timeout_s = timeout_s
        self._process: asyncio.subprocess.Process | ForkedProcess | None = None
        self._is_ending = asyncio.Event()
        self._ended = asyncio.Event()
        self._failed_starts = 0

    @property
    def has_begun(self) -> bool:
        return self._process is not None

    @property
    def pid(self) -> int | None:
        """Of the newest process of the role."""
        return None if self._process is None else self._process.pid

    async def keep(self, log: Log, output: int) -> None:
        """Runs the role until `end` is called, and restarts it whenever it dies."""
        now = asyncio.get_running_loop().time
        pause_s = FIRST_PAUSE_S
        try:
            if self._waits:
                await any_of(None, self._settled, self._is_ending)
            while not self._is_ending.is_set():
                began = now()
                try:
                    code = await self._run(output)
                    how = describe_end(code)
                except OSError as fault:  # no memory or too many processes, which may pass
                    code, how = ExitCode.UNABLE, f"not started: {fault.strerror}"
                if self._is_ending.is_set():
                    break
                if now() - began > SETTLED_S:
                    pause_s = FIRST_PAUSE_S
                self._check_start(code, log)
                self._display.warn(
                    f"{self.name} ended ({how}) and is restarted in {pause_s:g} s"
                )
                await any_of(pause_s, self._is_ending)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        finally:
            self._ended.set()

    def settle(self) -> None:
        """Called when all roles run: from now on a failed start is always tried again."""
        self._settled.set()

    async def end(self, hurry: asyncio.Event) -> None:
        """SIGTERM drains the role; after a timeout, or `hurry`, SIGINT and SIGKILL follow."""
        self._is_ending.set()
        self._signal(signal.SIGTERM)
        await any_of(self._timeout_s, self._ended, hurry)
        if not self._ended.is_set():
            # Not SIGTERM again: two pending signals of one kind count as one.
            self._signal(signal.SIGINT)
            await any_of(INTERRUPT_TIMEOUT_S, self._ended)
        self.kill()
        await self._ended.wait()

    def kill(self) -> None:
        self._is_ending.set()
        self._signal(signal.SIGKILL)

    async def _run(self, output: int) -> int:
        process = await self._start(output)
        if process is None:
            return 0
        self._process = process
        if self._is_ending.is_set():
            self._signal(signal.SIGTERM)
        return await process.wait()

    async def _start(self, output: int) -> asyncio.subprocess.Process | ForkedProcess | None:
        """None: the role is asked to end before its process has begun."""
        client = launcher_in_use() if self.role == RUNS_PROGRAMS else None
        launcher = None if client is None else client.descriptor
        # Only once: a role that died gets fresh memory, at other addresses.
        fork_server, self._fork_server = self._fork_server, None
        if fork_server is None or needs_capability(self.role):
            return await self._execute(output, launcher)
        process = fork_server.start([self.role], self._environment, output, launcher)
        await any_of(None, process.begun, self._is_ending)
        if not process.begun.is_set():
            await process.end_at_once()
            return None
        process.check_begun()
        return process

    async def _execute(self, output: int, launcher: int | None) -> asyncio.subprocess.Process:
        """Starts a new Python, which imports the role itself."""
        sockets = [] if launcher is None else [launcher]
        # Never from a thread: for PR_SET_PDEATHSIG the thread is the parent.
        with capabilities_of(self.role):
            return await asyncio.create_subprocess_exec(
                sys.executable,
                *("-P", "-m", "deemster", "--parent", str(os.getpid())),
                *(part for each in sockets for part in ("--launcher", str(each))),
                self.role,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=self._environment,
                pass_fds=sockets,
                start_new_session=True,  # Ctrl-C is for the supervisor only
            )

    def _signal(self, number: int) -> None:
        process = self._process
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):
                process.send_signal(number)

    def _check_start(self, code: int, log: Log) -> None:
        self._failed_starts = self._failed_starts + 1 if code == ExitCode.UNABLE else 0
        if self._failed_starts >= MAX_FAILED_STARTS and not self._settled.is_set():
            raise Unavailable(
                f"The {self.name} can't start ({log.last or 'no reason is logged'}): see "
                f"{log.path}, correct the cause and start again."
            )


def needs_capability(role: str) -> bool:
    """Only the API gets the capability to use a port below 1024, if this process kept it.

    If this process had to stay root, so do its children, and have all capabilities anyway.
    """
    return role == LISTENS and os.geteuid() != 0 and Capability.NET_BIND_SERVICE in held()


@contextmanager
def capabilities_of(role: str) -> Iterator[None]:
    if not needs_capability(role):
        yield
        return
    give_to_children(Capability.NET_BIND_SERVICE)
    try:
        yield
    finally:
        give_nothing_to_children()


async def any_of(timeout_s: float | None, *events: asyncio.Event) -> None:
    """Waits until one of the events is set or the time is over."""
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(event.wait()) for event in events]
        await asyncio.wait(waiting, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        for each in waiting:
            each.cancel()


def describe_end(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"
