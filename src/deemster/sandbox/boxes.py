"""A pool of warm boxes: give it a command, await its report."""

import asyncio
import os
import socket
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.sandbox import wire
from deemster.sandbox.command import STANDARD_PROFILES, Bind, Command, Layers, Profile
from deemster.sandbox.policy import build_policy
from deemster.sandbox.report import Report, make_report
from deemster.sandbox.runner import PACKAGED_RUNNER, Runner, RunnerConfig, SandboxFault, explain
from deemster.sandbox.slot import CodeId, Collect, Ended, Slot, Streams
from deemster.sandbox.streams import Sink

FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 5.0
START_TIMEOUT_S = 60.0


class Boxes:
    """Keeps one runner alive and hands its slots out, in order of asking."""

    def __init__(self, config: RunnerConfig) -> None:
        self._config = config
        self._runner: Runner | None = None
        self._slots: set[Slot] = set()
        self._free: deque[Slot] = deque()
        self._waiting: deque[asyncio.Future[Slot]] = deque()
        self._ended = asyncio.Event()
        self._first_slot: asyncio.Future[None] | None = None

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        *,
        slots: int = 1,
        layers: Layers = Layers.ALL,
        profiles: Sequence[Profile] = STANDARD_PROFILES,
        binds: Sequence[Bind] = (),
        runner: Path | None = None,
        cpus: Sequence[int] = (),
    ) -> AsyncIterator["Boxes"]:
        """Starts a runner with warm slots; leaving the block ends all that runs in them."""
        config = RunnerConfig(
            slots=slots,
            layers=layers,
            binds=tuple(binds),
            policy=build_policy(profiles),
            executable=runner or PACKAGED_RUNNER,
            cpus=tuple(cpus),
        )
        boxes = cls(config)
        await boxes._start()
        try:
            async with asyncio.TaskGroup() as group:
                keeper = group.create_task(boxes._keep_running())
                try:
                    yield boxes
                finally:
                    keeper.cancel()
                    await asyncio.shield(boxes._stop())
                    boxes._turn_away("The sandbox was closed.")
        except BaseExceptionGroup as group_error:
            # What the block raised is the caller's, not a group of one.
            if len(group_error.exceptions) == 1:
                raise group_error.exceptions[0] from None
            raise

    @property
    def runner_pid(self) -> int:
        pid = self._runner.pid if self._runner is not None else None
        if pid is None:
            raise SandboxFault("The sandbox runner is being started again.")
        return pid

    @property
    def slot_count(self) -> int:
        return self._config.slots

    async def run(
        self,
        command: Command,
        *,
        stdin: bytes | int = b"",
        stdout: Sink | None = None,
        stderr: Sink | None = None,
        collect: Collect | None = None,
    ) -> Report:
        """Runs a command in a free box.

        `stdin` is bytes or a descriptor to read them from. Output goes to the sinks as it
        comes, or into the report. `collect` reads the scratch, in a thread, before it is wiped.
        Raises SandboxFault when the cage failed, never for what the program did.
        """
        slot = await self._take()
        try:
            ended = await self._run_in(slot, command, Streams(stdin, stdout, stderr), collect)
        finally:
            self._give_back(slot)
        if ended.raw.end is wire.End.FAULT:
            raise SandboxFault(
                f"The sandbox could not run {command.argv[0]}: step {ended.raw.step} failed "
                f"({os.strerror(ended.raw.error)})."
            )
        return make_report(ended.raw, command.limits, ended.stdout, ended.stderr)

    async def _run_in(
        self, slot: Slot, command: Command, streams: Streams, collect: Collect | None
    ) -> Ended:
        flags, code_fd, code = await self._show_code(slot, command.code)
        if collect is not None:
            flags |= wire.RequestFlag.HOLD
        if command.address_space:
            flags |= wire.RequestFlag.ADDRESS_SPACE
        slot.code = None  # unless the slot says that it came so far
        try:
            ended = await slot.run(
                wire.pack_request(
                    command.argv,
                    command.environment,
                    command.limits,
                    self.profile_index(command.profile),
                    flags,
                ),
                streams,
                output_bytes=command.limits.output_bytes,
                wall_s=command.limits.wall_ms / 1000,
                code_fd=code_fd,
                collect=collect,
            )
        finally:
            if code_fd is not None:
                os.close(code_fd)
        if ended.raw.end is not wire.End.FAULT:
            slot.code = code
        elif ended.raw.step == "init-died":
            slot.die()  # as it will of itself
        return ended

    @asynccontextmanager
    async def borrowed_slot(self) -> AsyncIterator[Slot]:
        """A slot with its channel in blocking mode, for measurements beside this API."""
        slot = await self._take()
        loop = asyncio.get_running_loop()
        loop.remove_reader(slot.channel)
        slot.channel.setblocking(True)
        slot.code = None
        try:
            yield slot
        finally:
            slot.channel.setblocking(False)
            loop.add_reader(slot.channel, slot.hear)
            self._give_back(slot)

    def profile_index(self, profile: str) -> int:
        index = self._config.policy.index.get(profile)
        if index is None:
            raise Refused(f"There is no sandbox profile {profile!r}.")
        return index

    # -- /code --

    async def _show_code(
        self, slot: Slot, directory: Path | None
    ) -> tuple[wire.RequestFlag, int | None, CodeId | None]:
        """What to tell the slot of /code, with a mount when it has to be hung there."""
        if directory is None:
            return wire.RequestFlag(0), None, None
        code = identify(directory)
        if slot.code == code:
            return wire.RequestFlag.SAME_CODE, None, code
        if self._runner is None:
            raise SandboxFault("The sandbox runner is being started again; try again.")
        return wire.RequestFlag.CODE, await self._runner.attach(directory), code

    # -- slots --

    async def _take(self) -> Slot:
        while self._free:
            slot = self._free.popleft()
            if not slot.dead:
                return slot
        waiting: asyncio.Future[Slot] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        try:
            return await waiting
        except asyncio.CancelledError:
            if waiting.done() and not waiting.cancelled() and not waiting.exception():
                self._give_back(waiting.result())
            raise

    def _give_back(self, slot: Slot) -> None:
        if slot.dead or slot.busy_for_nobody:
            return
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(slot)
                return
        self._free.append(slot)

    def _new_slot(self, number: int, channel: socket.socket) -> None:
        slot = Slot(number, channel, self._give_back, self._slot_died)
        self._slots.add(slot)
        if self._first_slot is not None and not self._first_slot.done():
            self._first_slot.set_result(None)
        self._give_back(slot)

    def _slot_died(self, slot: Slot) -> None:
        self._slots.discard(slot)
        if slot.stuck and self._runner is not None:
            self._runner.kill()

    # -- the runner's life --

    async def _start(self) -> None:
        """Starts a runner and returns once its first slot is there."""
        self._ended.clear()
        self._first_slot = asyncio.get_running_loop().create_future()
        runner = Runner(self._config, self._new_slot, self._runner_ended)
        self._runner = runner
        try:
            await runner.start()
            await asyncio.wait_for(self._first_slot, START_TIMEOUT_S)
        except TimeoutError:
            await asyncio.shield(self._stop())
            raise SandboxFault("The sandbox runner did not get ready in time.") from None
        except BaseException:
            await asyncio.shield(self._stop())
            raise

    def _runner_ended(self) -> None:
        self._ended.set()
        for slot in list(self._slots):
            slot.die()
        if self._first_slot is not None and not self._first_slot.done():
            assert self._runner is not None
            fault = self._runner.last_fault
            reason = explain(fault) if fault else "it ended without a word"
            self._first_slot.set_exception(
                SandboxFault(
                    f"The sandbox can't be set up: {reason}. `deemster doctor` says what to do."
                )
            )

    async def _keep_running(self) -> None:
        """Starts another runner when one ends; who waits meanwhile hears why that fails."""
        pause_s = FIRST_PAUSE_S
        while True:
            await self._ended.wait()
            await self._stop()
            try:
                await self._start()
                pause_s = FIRST_PAUSE_S
            except SandboxFault as error:
                self._turn_away(str(error))
                self._ended.set()
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _turn_away(self, reason: str) -> None:
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_exception(SandboxFault(reason))

    async def _stop(self) -> None:
        for slot in list(self._slots):
            slot.die()
        self._free.clear()
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.stop()


def identify(directory: Path) -> CodeId:
    status = directory.stat()
    return status.st_dev, status.st_ino
