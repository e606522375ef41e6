"""One runner process: starts it, hears of its slots, has it clone mounts, ends it."""

import array
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


class SandboxFault(Unavailable):
    """The cage itself failed; the program is not to blame and the run can be tried again."""

    code = "sandbox_fault"


@dataclass(frozen=True, slots=True)
class RunnerConfig:
    slots: int
    layers: Layers
    binds: tuple[Bind, ...]
    policy: Policy
    executable: Path
    cpus: tuple[int, ...] = ()


class Runner:
    """One process. `on_slot` gets each slot's channel; `on_end` is called when it is gone."""

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
        self._control, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.setblocking(False)
        self._spawning: asyncio.Future[subprocess.Popen[bytes]] | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    async def start(self) -> None:
        self._spawning = self._loop.run_in_executor(None, _spawn, self._config, self._theirs)
        self._spawning.add_done_callback(lambda _: self._theirs.close())
        try:
            self._process = await asyncio.shield(self._spawning)
        except OSError as error:
            raise SandboxFault(
                f"The sandbox runner {self._config.executable} can't be started "
                f"({error.strerror}); reinstall Deemster or set DEEMSTER_RUNNER."
            ) from error
        self._loop.add_reader(self._control, self._hear)

    def _hear(self) -> None:
        try:
            packet, fds, _, _ = socket.recv_fds(self._control, wire.EVENT.size, 1)
        except BlockingIOError:
            return
        except OSError:
            packet, fds = b"", []
        if not packet:
            self._gone()
            return
        event = wire.unpack_event(packet)
        match event.event:
            case wire.Event.SLOT:
                self._on_slot(event.slot, socket.socket(fileno=fds[0]))
            case wire.Event.ATTACHED:
                self._answer(fds[0])
            case wire.Event.REFUSED:
                self._answer(
                    SandboxFault(f"A directory can't be shown in a box: {explain(event)}.")
                )
            case wire.Event.FAULT:
                self.last_fault = event

    def _answer(self, answer: int | SandboxFault) -> None:
        waiting = self._attaching.popleft()
        if waiting.cancelled():
            if isinstance(answer, int):
                os.close(answer)
        elif isinstance(answer, int):
            waiting.set_result(answer)
        else:
            waiting.set_exception(answer)

    def _gone(self) -> None:
        self._loop.remove_reader(self._control)
        while self._attaching:
            waiting = self._attaching.popleft()
            if not waiting.done():
                waiting.set_exception(SandboxFault("The sandbox runner ended; try again."))
        self._on_end()

    async def attach(
        self, directory: Path, order: wire.Instruction = wire.Instruction.ATTACH
    ) -> int:
        """A descriptor of a read-only mount of the directory, to be hung into one slot."""
        waiting: asyncio.Future[int] = self._loop.create_future()
        try:
            self._control.send(attach_order(directory, order))
        except OSError as error:
            raise SandboxFault("The sandbox runner ended; try again.") from error
        self._attaching.append(waiting)
        try:
            return await waiting
        except asyncio.CancelledError:
            if waiting.done() and not waiting.cancelled() and not waiting.exception():
                os.close(waiting.result())  # it came in the same moment
            raise

    def kill(self) -> None:
        """Ends it and all of its slots at once, whatever they do; `on_end` follows."""
        if self._process is not None:
            self._process.kill()

    async def stop(self) -> None:
        """Closes the control channel, which ends the runner and its slots.

        Who is cancelled here, or in `start`, leaves the rest to another call.
        """
        if self._control.fileno() >= 0:
            self._loop.remove_reader(self._control)
            self._control.close()
        if self._process is None and self._spawning is not None:
            with contextlib.suppress(OSError):
                self._process = await asyncio.shield(self._spawning)
        if self._process is not None:
            await asyncio.to_thread(_reap, self._process)


def attach_order(directory: Path, order: wire.Instruction) -> bytes:
    return wire.pack_order(order, str(directory.absolute()))


def explain(event: wire.RunnerEvent) -> str:
    return f"step {event.step} failed ({os.strerror(event.error)})"


def _spawn(config: RunnerConfig, control: socket.socket) -> subprocess.Popen[bytes]:
    policy = config.policy
    files = [_as_file(data) for data in (policy.floor, policy.filter, *policy.profiles)]
    arguments = [str(config.executable), "--slots", str(config.slots)]
    arguments += ["--layers", str(config.layers.value), "--floor", str(files[0])]
    arguments += ["--filter", str(files[1])]
    for fd in files[2:]:
        arguments += ["--profile", str(fd)]
    for bind in merge_binds(config.binds):
        arguments += ["--bind", str(bind.source), bind.target]
    for text, place in base_links():
        arguments += ["--link", text, place]
    for cpu in config.cpus:
        arguments += ["--cpu", str(cpu)]
    try:
        return subprocess.Popen(
            arguments,
            stdin=control.fileno(),
            stdout=subprocess.DEVNULL,
            pass_fds=files,
            start_new_session=True,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
            cwd="/",
        )
    finally:
        close_all(files)


def _as_file(data: bytes) -> int:
    fd = os.memfd_create("policy", os.MFD_CLOEXEC)
    os.write(fd, data)
    return fd


def _reap(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def send_with_fds(channel: socket.socket, packet: bytes, fds: list[int]) -> None:
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
    channel.sendmsg([packet], ancillary)


def close_all(fds: list[int]) -> None:
    for fd in fds:
        with contextlib.suppress(OSError):
            os.close(fd)
