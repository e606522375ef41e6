"""One runner process: starts it, receives its slots, asks it for mounts, stops it."""

import asyncio
import contextlib
import os
import socket
import subprocess
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from deemster.domain.errors import Unavailable
from deemster.sandbox import wire
from deemster.sandbox.command import FilesView, Layers
from deemster.sandbox.cores import move_descendants
from deemster.sandbox.launched_runner import LaunchedRunner, launcher_in_use
from deemster.sandbox.runner_start import (
    PACKAGED_RUNNER,
    RunnerOptions,
    RunnerProcess,
    as_file,
    spawn_runner,
)
from deemster.sandbox.seccomp import SeccompFilters

__all__ = ["PACKAGED_RUNNER", "Runner", "RunnerConfig", "SandboxFault", "explain"]


class SandboxFault(Unavailable):
    """The sandbox itself failed, not the program; the run can be tried again."""

    code = "sandbox_fault"

    def __init__(self, message: str, *, step: str = "") -> None:
        super().__init__(message)
        self.step = step
        """The runner's step that failed, if it was a step of a run."""


@dataclass(frozen=True, slots=True)
class RunnerConfig:
    slots: int
    layers: Layers
    views: tuple[FilesView, ...]
    filters: SeccompFilters
    executable: Path
    cpus: tuple[int, ...] = ()
    share_cpus: bool = False
    low_priority: bool = False
    read_mib_per_s: int = 0
    keep_page_cache: bool = False

    def options(self) -> RunnerOptions:
        return RunnerOptions(
            slots=self.slots,
            layers=self.layers,
            below=(Path("/"),),  # the launcher permits less
            executable=self.executable,
            cpus=self.cpus,
            share_cpus=self.share_cpus,
            low_priority=self.low_priority,
            read_mib_per_s=self.read_mib_per_s,
            keep_page_cache=self.keep_page_cache,
        )


class Runner:
    """One process.

    `on_slot` gets the event and the channel of each new slot; `on_end` is called when the
    process has ended.
    """

    def __init__(
        self,
        config: RunnerConfig,
        on_slot: Callable[[wire.RunnerEvent, socket.socket], None],
        on_end: Callable[[], None],
    ) -> None:
        self._config = config
        self._on_slot = on_slot
        self._on_end = on_end
        self._attaching: deque[asyncio.Future[int]] = deque()
        self.last_fault: wire.RunnerEvent | None = None
        self._loop = asyncio.get_running_loop()
        self._control, self._runner_end = socket.socketpair(
            socket.AF_UNIX, socket.SOCK_SEQPACKET
        )
        self._control.setblocking(False)
        self._spawning: asyncio.Future[RunnerProcess] | None = None
        self._process: RunnerProcess | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    async def start(self) -> None:
        self._spawning = self._loop.run_in_executor(
            None, _spawn, self._config, self._runner_end
        )
        self._spawning.add_done_callback(lambda _: self._runner_end.close())
        try:
            self._process = await asyncio.shield(self._spawning)
        except OSError as error:
            raise SandboxFault(
                f"The sandbox runner {self._config.executable} can't be started "
                f"({error.strerror or error}); reinstall Deemster or set DEEMSTER_RUNNER."
            ) from error
        self._loop.add_reader(self._control, self._receive)

    def _receive(self) -> None:
        try:
            packet, fds, _, _ = socket.recv_fds(self._control, wire.EVENT.size, 1)
        except BlockingIOError:
            return
        except OSError:
            packet, fds = b"", []
        if not packet:
            self._end()
            return
        event = wire.unpack_event(packet)
        match event.event:
            case wire.RunnerEventKind.SLOT:
                self._on_slot(event, socket.socket(fileno=fds[0]))
            case wire.RunnerEventKind.ATTACHED:
                self._answer_attach(fds[0])
            case wire.RunnerEventKind.REFUSED:
                self._answer_attach(
                    SandboxFault(f"A directory can't be mounted in a box: {explain(event)}.")
                )
            case wire.RunnerEventKind.FAULT:
                self.last_fault = event

    def _answer_attach(self, answer: int | SandboxFault) -> None:
        mount = self._attaching.popleft()
        if mount.cancelled():
            if isinstance(answer, int):
                os.close(answer)
        elif isinstance(answer, int):
            mount.set_result(answer)
        else:
            mount.set_exception(answer)

    def _end(self) -> None:
        self._loop.remove_reader(self._control)
        while self._attaching:
            mount = self._attaching.popleft()
            if not mount.done():
                mount.set_exception(SandboxFault("The sandbox runner ended; try again."))
        self._on_end()

    async def attach(self, directory: Path, instruction: wire.Instruction) -> int:
        """Returns a descriptor of a read-only mount of the directory, for one slot."""
        mount: asyncio.Future[int] = self._loop.create_future()
        try:
            self._control.send(wire.pack_instruction(instruction, directory))
        except OSError as error:
            raise SandboxFault("The sandbox runner ended; try again.") from error
        self._attaching.append(mount)
        try:
            return await mount
        except asyncio.CancelledError:
            if mount.done() and not mount.cancelled() and not mount.exception():
                os.close(mount.result())  # it arrived together with the cancellation
            raise

    def kill(self) -> None:
        """Ends the runner and all of its slots at once; `on_end` follows."""
        if self._process is not None:
            with contextlib.suppress(ChildProcessError):
                self._process.kill()

    def move(self, cpus: Collection[int]) -> None:
        """Moves all boxes and the programs in them to these cores; blocks."""
        if isinstance(self._process, LaunchedRunner):
            self._process.move(cpus)
        elif self._process is not None:
            move_descendants(self._process.pid, cpus)

    def own_terminal(self, terminal: int, uid: int) -> None:
        """Makes a terminal belong to the programs of a box."""
        if isinstance(self._process, LaunchedRunner):
            self._process.own_terminal(terminal, uid)
        elif os.geteuid() == 0:  # otherwise the program has our own uid
            with contextlib.suppress(OSError):  # root of a user namespace with one uid
                os.fchown(terminal, uid, -1)

    async def stop(self) -> None:
        """Closes the control channel, which ends the runner and its slots.

        If this call or `start` is cancelled, call `stop` again to finish.
        """
        if self._control.fileno() >= 0:
            self._loop.remove_reader(self._control)
            self._control.close()
        if self._process is None and self._spawning is not None:
            with contextlib.suppress(OSError):
                self._process = await asyncio.shield(self._spawning)
        if self._process is not None:
            await asyncio.to_thread(_wait_or_kill, self._process)


def explain(event: wire.RunnerEvent) -> str:
    return f"step {event.step} failed ({os.strerror(event.error)})"


def _spawn(config: RunnerConfig, control: socket.socket) -> RunnerProcess:
    filters = config.filters
    views = b"".join(view.pack() for view in config.views)
    fds = [
        as_file(data)
        for data in (filters.deny_filter, filters.notify_filter, views, *filters.profiles)
    ]
    launcher = launcher_in_use()
    start = spawn_runner if launcher is None else launcher.start
    try:
        return start(config.options(), control.fileno(), fds)
    finally:
        for fd in fds:
            os.close(fd)


def _wait_or_kill(process: RunnerProcess) -> None:
    try:
        process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ChildProcessError):
            process.kill()
        process.wait()
