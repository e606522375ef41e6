"""Runs commands in boxes that are kept ready, and returns their reports."""

import asyncio
import os
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.sandbox import wire
from deemster.sandbox.activity import read_activity
from deemster.sandbox.command import STANDARD_PROFILES, Command, FilesView, Layers, Profile
from deemster.sandbox.failed_start import is_fault_of_program, report_failed_start
from deemster.sandbox.hang import PairMember
from deemster.sandbox.live_run import Pipes, StreamedRun
from deemster.sandbox.pair import CancelRule, Pair, PairRun, RecordSide
from deemster.sandbox.pool import Pool
from deemster.sandbox.runner import PACKAGED_RUNNER, RunnerConfig, SandboxFault
from deemster.sandbox.seccomp import build_filters
from deemster.sandbox.slot import Collect, DirectoryId, Mounts, RunIO, Slot
from deemster.sandbox.slot_run import SlotRequest, SlotResult, SlotRun, run_in_slot
from deemster.sandbox.staging import Stage
from deemster.sandbox.streams import Sink, Source
from deemster.sandbox.terminal import (
    DEFAULT_SIZE,
    TERMINAL_TYPE,
    Terminal,
    TerminalRun,
    TerminalSize,
)
from deemster.sandbox.visible_files import system_view
from deemster.sandbox.wire import Report, make_report


class Boxes:
    """Runs commands in the slots of one pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @classmethod
    @asynccontextmanager
    async def open(  # noqa: PLR0913 - options of the runner
        cls,
        *,
        slots: int = 1,
        layers: Layers = Layers.ALL,
        profiles: Sequence[Profile] = STANDARD_PROFILES,
        views: Sequence[FilesView] = (),
        script_view: FilesView | None = None,
        runner: Path | None = None,
        cpus: Sequence[int] = (),
        share_cpus: bool = False,
        low_priority: bool = False,
        read_mib_per_s: int = 0,
        keep_page_cache: bool = False,
    ) -> AsyncIterator["Boxes"]:
        """Starts a runner with its slots; leaving the block ends everything in them.

        `views` are those that commands will need; boxes get others when a command has one.
        Commands without a view, such as scripts of the jury, get `script_view`, by default all
        programs and libraries. The slots are pinned to the cores `cpus` in turn, one core each.
        With `share_cpus` every slot may use all of these cores. With `low_priority`, programs
        only get CPU time that nobody else wants. The programs of a slot read from each disk at
        most `read_mib_per_s`, where the kernel can limit it; 0 means no limit. With
        `keep_page_cache`, for trusted programs only, files that they read stay in memory (X9).
        """
        config = RunnerConfig(
            slots=slots,
            layers=layers,
            views=(script_view or system_view(), *dict.fromkeys(views)),
            filters=build_filters(profiles),
            executable=runner or PACKAGED_RUNNER,
            cpus=tuple(cpus),
            share_cpus=share_cpus,
            low_priority=low_priority,
            read_mib_per_s=read_mib_per_s,
            keep_page_cache=keep_page_cache,
        )
        async with Pool.open(config) as pool:
            yield cls(pool)

    @property
    def runner_pid(self) -> int:
        return self._pool.runner_pid

    def move_to(self, cpus: Collection[int]) -> None:
        """Moves all boxes and the programs in them to these cores.

        A box that is being made at this moment can be missed, and one that replaces a broken
        box begins on the cores that the boxes were opened with: so repeat the move.
        """
        self._pool.runner.move(cpus)

    @property
    def has_free_box(self) -> bool:
        return self._pool.has_free_slot

    @property
    def slot_count(self) -> int:
        return self._pool.config.slots

    async def run(
        self,
        command: Command,
        *,
        stdin: Source = b"",
        stdout: Sink | None = None,
        stderr: Sink | None = None,
        stage: Stage | None = None,
        collect: Collect | None = None,
    ) -> Report:
        """Runs a command in a free box.

        Output goes to the sinks as it arrives, or else into the report; if both sinks are the
        same object, in the order in which the program writes. `stage` fills the
        scratch directory before the program and its clocks start; its files belong to the
        program. `collect` reads the scratch before it is wiped. Both run in a thread, and
        their exceptions are raised here. Raises SandboxFault when the sandbox itself failed,
        never for what the program did.
        """
        [slot] = await self._acquire(command)
        try:
            return await self._run_in(
                slot, command, RunIO(stdin, stdout, stderr, stage, collect)
            )
        finally:
            self._pool.release(slot)

    async def prepare_run(
        self, command: Command, *, stdin: Source, stdout: Sink, stderr: Sink
    ) -> "PreparedRun":
        """Makes a run ready in a free box, without starting it; the caller closes it.

        Everything else is as in `run`.
        """
        [slot] = await self._acquire(command)
        io = RunIO(stdin, stdout, stderr)
        with ExitStack() as closing:
            closing.callback(self._pool.release, slot)
            request, mounts = await self._prepare(slot, command, io, closing)
            slot.mounts = None  # not known until the slot has reported
            in_slot = SlotRun(slot, request, io, has_end_event=True)
            closing.callback(in_slot.close)
            return PreparedRun(slot, command, io, mounts, in_slot, closing.pop_all())

    @asynccontextmanager
    async def open_terminal(
        self,
        command: Command,
        size: TerminalSize = DEFAULT_SIZE,
        *,
        stage: Stage | None = None,
        collect: Collect | None = None,
    ) -> AsyncIterator[TerminalRun]:
        """Runs a command on a terminal in a free box; leaving the block ends the program.

        `stage` and `collect` are those of `run`. Leaving the block raises SandboxFault if the
        sandbox itself failed.
        """
        command = replace(command, environment={"TERM": TERMINAL_TYPE, **command.environment})
        [slot] = await self._acquire(command)
        try:
            own = self._pool.runner.own_terminal
            terminal = Terminal(size, slot, command.limits.output_bytes, own)
            streams = (terminal.input, terminal.output, terminal.errors)
            run = TerminalRun(terminal, slot)
            io = RunIO(*streams, stage, collect, on_start=run.on_start, terminal=True)
            async with run.started(lambda: self._run_in(slot, command, io), streams):
                yield run
        finally:
            self._pool.release(slot)

    @asynccontextmanager
    async def open_streams(
        self, command: Command, *, stage: Stage | None = None, collect: Collect | None = None
    ) -> AsyncIterator[StreamedRun]:
        """Runs a command on pipes that the caller reads and writes while it runs.

        Everything else is as in `open_terminal`.
        """
        [slot] = await self._acquire(command)
        try:
            pipes = Pipes(slot, command.limits.output_bytes)
            streams = (pipes.stdin, pipes.stdout, pipes.stderr)
            run = StreamedRun(pipes, slot)
            io = RunIO(*streams, stage, collect, on_start=run.on_start)
            async with run.started(lambda: self._run_in(slot, command, io), streams):
                yield run
        finally:
            self._pool.release(slot)

    async def run_pair(  # noqa: PLR0913 - options for two programs
        self,
        program: Command,
        companion: Command,
        *,
        wall_s: float,
        margin_s: float = 0.0,
        cancel_program_if: CancelRule,
        stage: Stage | None = None,
        collect: Collect | None = None,
        program_stage: Stage | None = None,
        program_stderr: Sink | None = None,
        companion_stderr: Sink | None = None,
        drain_unread: bool = False,
        hold_output: bool = False,
        record: RecordSide | None = None,
    ) -> Pair:
        """Runs two commands at once; each one's stdout is the other's stdin.

        When the companion ends first, `cancel_program_if` decides from its report whether the
        program is cancelled or runs on. `wall_s` limits the pair; a companion may go on for
        `margin_s` more if the program has ended. `stage` and `collect` belong to the
        companion. With `drain_unread` the companion can keep writing after the program has
        ended; with `hold_output` it reads end of file only then, even if the program closes
        its stdout before. `record` gets what each side writes, which delays both. Raises what
        `run` raises, and ends both.
        """
        if self.slot_count < 2:
            raise Refused("A pair needs two boxes; this pool has one.")
        slots = await self._acquire(program, companion)
        try:
            with ExitStack() as closing:
                pair = PairRun(
                    closing, drain_unread=drain_unread, hold_output=hold_output, record=record
                )
                program_io = RunIO(
                    stdin=pair.to_program.reader,
                    stdout=pair.program_output,
                    stderr=program_stderr,
                    stage=program_stage,
                    before_start=pair.wait_for_both,
                )
                companion_io = RunIO(
                    stdin=pair.to_companion.reader,
                    stdout=pair.companion_output,
                    stderr=companion_stderr,
                    stage=stage,
                    collect=collect,
                    before_start=pair.wait_for_both,
                )
                async with asyncio.TaskGroup() as group:
                    run_program = self._run_in(slots[0], program, program_io)
                    run_companion = self._run_in(slots[1], companion, companion_io)
                    one = pair_member(slots[0], group.create_task(run_program))
                    two = pair_member(slots[1], group.create_task(run_companion))
                    hang = await pair.supervise(
                        one, two, cancel_program_if, wall_s=wall_s, margin_s=margin_s
                    )
            return pair.conclude(one.task.result(), two.task.result(), hang)
        except BaseExceptionGroup as group_error:
            raise group_error.exceptions[0] from None
        finally:
            for slot in slots:
                self._pool.release(slot)

    async def _acquire(self, *commands: Command) -> list[Slot]:
        await self._pool.provide([each.view for each in commands if each.view is not None])
        return await self._pool.acquire([mounts_of(command) for command in commands])

    async def _run_in(self, slot: Slot, command: Command, io: RunIO) -> Report:
        with ExitStack() as closing:
            request, mounts = await self._prepare(slot, command, io, closing)
            slot.mounts = None  # not known until the slot has reported
            result = await run_in_slot(slot, request, io)
        return conclude_run(slot, command, io, mounts, result)

    async def _prepare(
        self, slot: Slot, command: Command, io: RunIO, closing: ExitStack
    ) -> tuple[SlotRequest, Mounts]:
        """Returns the request for the slot, and the mounts that the slot has afterwards."""
        flags = 0
        if io.stage is not None:
            flags |= wire.RequestFlag.STAGE
        if io.collect is not None:
            flags |= wire.RequestFlag.COLLECT
        if io.before_start is not None:
            flags |= wire.RequestFlag.PAIRED
        if io.terminal:
            flags |= wire.RequestFlag.TERMINAL
        if command.address_space:
            flags |= wire.RequestFlag.ADDRESS_SPACE
        if command.warm:
            flags |= wire.RequestFlag.WARM
        present = slot.mounts or Mounts()
        code = await self._plan_mount(command.code, present.code, CODE, closing)
        data = await self._plan_mount(command.data, present.data, DATA, closing)
        limits = command.limits
        packet = wire.pack_request(
            command.argv,
            command.environment,
            limits,
            self.profile_index(command.profile),
            flags | code.flag | data.flag,
            self._pool.view_index(command.view),
        )
        descriptors = code.descriptors + data.descriptors
        request = SlotRequest(packet, descriptors, limits.output_bytes, limits.wall_ms / 1000)
        return request, Mounts(code.directory, data.directory)

    async def _plan_mount(
        self,
        directory: Path | None,
        present: DirectoryId | None,
        point: "MountPoint",
        closing: ExitStack,
    ) -> "MountPlan":
        if directory is None:
            return MountPlan(0, None)  # init unmounts what is there
        if present is not None and identify(directory) == present:
            return MountPlan(point.keep, present)
        mount = await self._pool.attach(directory, point.instruction)
        closing.callback(os.close, mount)
        # Identified by the mount: the path may lead to another directory by now.
        return MountPlan(point.replace, identify(mount), (mount,))

    @asynccontextmanager
    async def raw_slot(self) -> AsyncIterator[Slot]:
        """Lends out a slot with its channel in blocking mode, for benchmarks and tests."""
        [slot] = await self._pool.acquire([Mounts()])
        loop = asyncio.get_running_loop()
        loop.remove_reader(slot.channel)
        slot.channel.setblocking(True)
        slot.mounts = None
        try:
            yield slot
        finally:
            slot.channel.setblocking(False)
            loop.add_reader(slot.channel, slot.receive)
            self._pool.release(slot)

    def profile_index(self, profile: str) -> int:
        index = self._pool.config.filters.index.get(profile)
        if index is None:
            raise Refused(f"There is no sandbox profile {profile!r}.")
        return index


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A run that only has to be started."""

    slot: Slot
    command: Command
    io: RunIO
    mounts: Mounts
    """Those of the slot after the run."""
    in_slot: SlotRun
    closing: ExitStack

    def close(self) -> None:
        """Ends the program if it still runs, and frees the box."""
        self.closing.close()

    def start(self) -> None:
        self.in_slot.start()

    def start_when_ended(self, earlier: "PreparedRun") -> None:
        """Starts the run as soon as an earlier one, which was started, has ended."""
        self.in_slot.start_when_ended(earlier.in_slot)

    async def report(self) -> Report:
        """Waits until the program has ended."""
        result = await self.in_slot.result()
        return conclude_run(self.slot, self.command, self.io, self.mounts, result)


def conclude_run(
    slot: Slot, command: Command, io: RunIO, mounts: Mounts, result: SlotResult
) -> Report:
    """Raises SandboxFault if the sandbox failed; otherwise the slot has these mounts now."""
    if is_fault_of_program(result.raw, command):
        return report_failed_start(result, io)
    if result.raw.end is wire.End.FAULT:
        if result.raw.step == "init-died":
            slot.close()  # the runner replaces this slot anyway
        raise SandboxFault(
            f"The sandbox could not run {command.argv[0]}: step {result.raw.step} failed "
            f"({os.strerror(result.raw.error)}).",
            step=result.raw.step,
        )
    slot.mounts = mounts
    return make_report(result.raw, command.limits, result.stdout, result.stderr)


def pair_member(slot: Slot, run: asyncio.Task[Report]) -> PairMember:
    return PairMember(run, slot.cancel, partial(read_activity, slot.spawner_pid))


@dataclass(frozen=True, slots=True)
class MountPoint:
    """/code or /data: the flags and the instruction that the runner knows for it."""

    keep: wire.RequestFlag
    replace: wire.RequestFlag
    instruction: wire.Instruction


CODE = MountPoint(wire.RequestFlag.SAME_CODE, wire.RequestFlag.CODE, wire.Instruction.ATTACH)
DATA = MountPoint(
    wire.RequestFlag.SAME_DATA, wire.RequestFlag.DATA, wire.Instruction.ATTACH_DATA
)


@dataclass(frozen=True, slots=True)
class MountPlan:
    """What the request says about one mount point, with a new mount if one is needed."""

    flag: int
    directory: DirectoryId | None
    descriptors: tuple[int, ...] = ()


def mounts_of(command: Command) -> Mounts:
    return Mounts(
        None if command.code is None else identify(command.code),
        None if command.data is None else identify(command.data),
    )


def identify(directory: Path | int) -> DirectoryId:
    status = os.fstat(directory) if isinstance(directory, int) else directory.stat()
    return status.st_dev, status.st_ino
