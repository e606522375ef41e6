"""One runner process: starts it, receives its slots, asks it for mounts, stops it."""

import asyncio
import contextlib
import os
import socket
import subprocess
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from deemster.domain.errors import Unavailable
from deemster.sandbox import wire
from deemster.sandbox.command import Bind, Layers
from deemster.sandbox.policy import Policy
from deemster.sandbox.root import base_links, merge_binds

PACKAGED_RUNNER = Path(__file__).parent / "bin" / "deemster-runner"


UID_BASE = 1_900_000_000
"""With root, the programs of slot n have the uid UID_BASE + 2n + 1 outside their box."""


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
    binds: tuple[Bind, ...]
    policy: Policy
    executable: Path
    cpus: tuple[int, ...] = ()
    share_cpus: bool = False
    low_priority: bool = False
    keep_page_cache: bool = False


class Runner:
    """One process. `on_slot` gets each slot's channel; `on_end` is called when it has ended."""

    def __init__(
        self,
        config: RunnerConfig,
        on_slot: Callable[[int, socket.socket], None],
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
        self._spawning: asyncio.Future[subprocess.Popen[bytes]] | None = None
        self._process: subprocess.Popen[bytes] | None = None

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
                f"({error.strerror}); reinstall Deemster or set DEEMSTER_RUNNER."
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
            case wire.Event.SLOT:
                self._on_slot(event.slot, socket.socket(fileno=fds[0]))
            case wire.Event.ATTACHED:
                self._answer_attach(fds[0])
            case wire.Event.REFUSED:
                self._answer_attach(
                    SandboxFault(f"A directory can't be mounted in a box: {explain(event)}.")
                )
            case wire.Event.FAULT:
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
            self._process.kill()

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


def _spawn(config: RunnerConfig, control: socket.socket) -> subprocess.Popen[bytes]:
    policy = config.policy
    filters = (policy.deny_filter, policy.notify_filter)
    fds = [_as_file(data) for data in (*filters, *policy.profiles)]
    arguments = [str(config.executable), "--slots", str(config.slots)]
    arguments += ["--layers", str(config.layers.value), "--uid-base", str(UID_BASE)]
    arguments += ["--deny-filter", str(fds[0]), "--notify-filter", str(fds[1])]
    for fd in fds[2:]:
        arguments += ["--profile", str(fd)]
    for bind in merge_binds(config.binds):
        arguments += ["--bind", str(bind.source), bind.target]
    for target, path in base_links():
        arguments += ["--link", target, path]
    for cpu in config.cpus:
        arguments += ["--cpu", str(cpu)]
    arguments += ["--share-cpus", str(int(config.share_cpus))]
    if config.low_priority:
        arguments += ["--low-priority", "1"]
    if config.keep_page_cache:
        arguments += ["--keep-page-cache", "1"]
    try:
        return subprocess.Popen(
            arguments,
            stdin=control.fileno(),
            stdout=subprocess.DEVNULL,
            pass_fds=fds,
            start_new_session=True,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
            cwd="/",
        )
    finally:
        for fd in fds:
            os.close(fd)


def _as_file(data: bytes) -> int:
    fd = os.memfd_create("policy", os.MFD_CLOEXEC)
    os.write(fd, data)
    return fd


def _wait_or_kill(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
