"""Warm boxes: give them a command, await its report."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.sandbox import wire
from deemster.sandbox.command import STANDARD_PROFILES, Bind, Command, Layers, Profile
from deemster.sandbox.pair import CancelRule, Conversation, Pair, Partner, conclude
from deemster.sandbox.policy import build_policy
from deemster.sandbox.pool import Pool
from deemster.sandbox.report import Report, make_report
from deemster.sandbox.runner import PACKAGED_RUNNER, RunnerConfig, SandboxFault
from deemster.sandbox.slot import Collect, DirectoryId, Handling, Request, Shown, Slot
from deemster.sandbox.staging import Stage
from deemster.sandbox.streams import Sink, Source


class Boxes:
    """Runs commands in the slots of one pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

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
        async with Pool.open(config) as pool:
            yield cls(pool)

    @property
    def runner_pid(self) -> int:
        return self._pool.runner_pid

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

        Output goes to the sinks as it comes, or into the report. `stage` fills the scratch, in
        a thread, before the program and its clocks start; what it makes belongs to the program.
        `collect` reads the scratch, in a thread, before it is wiped. What either raises comes
        out here. Raises SandboxFault when the cage failed, never for what the program did.
        """
        [slot] = await self._pool.take([wanted_by(command)])
        try:
            handling = Handling(stdin, stdout, stderr, stage, collect)
            return await self._run_in(slot, command, handling)
        finally:
            self._pool.give_back(slot)

    async def run_pair(  # noqa: PLR0913 - two of everything
        self,
        program: Command,
        companion: Command,
        *,
        wall_s: float,
        cancel_program_if: CancelRule,
        stage: Stage | None = None,
        collect: Collect | None = None,
        program_stage: Stage | None = None,
        program_stderr: Sink | None = None,
        companion_stderr: Sink | None = None,
        drain_unread: bool = False,
    ) -> Pair:
        """Runs two commands at once; each one's stdout is the other's stdin.

        When the companion ends first, `cancel_program_if` decides from its report whether the
        program is cancelled or runs on. `wall_s` limits the whole pair. `stage` and `collect`
        belong to the companion. With `drain_unread` the companion can keep writing after the
        program has ended. Raises what `run` raises, and ends both.
        """
        if self.slot_count < 2:
            raise Refused("A pair takes two boxes; this pool has one.")
        slots = await self._pool.take([wanted_by(program), wanted_by(companion)])
        try:
            with ExitStack() as closing:
                talk = Conversation(closing, drain_unread=drain_unread)
                ours = Handling(
                    stdin=talk.to_program.reader,
                    stdout=talk.to_companion.writer,
                    stderr=program_stderr,
                    stage=program_stage,
                    gate=talk.gate,
                )
                theirs = Handling(
                    stdin=talk.to_companion.reader,
                    stdout=talk.to_program.writer,
                    stderr=companion_stderr,
                    stage=stage,
                    collect=collect,
                    gate=talk.gate,
                )
                async with asyncio.TaskGroup() as group:
                    one = Partner(self._run_in(slots[0], program, ours), slots[0].cancel, group)
                    two = Partner(
                        self._run_in(slots[1], companion, theirs), slots[1].cancel, group
                    )
                    blame = await talk.hold(one, two, wall_s, cancel_program_if)
            return conclude(
                one.running.result(), two.running.result(), blame, flooded=talk.flooded
            )
        except BaseExceptionGroup as group_error:
            raise group_error.exceptions[0] from None
        finally:
            for slot in slots:
                self._pool.give_back(slot)

    async def _run_in(self, slot: Slot, command: Command, handling: Handling) -> Report:
        with ExitStack() as closing:
            request, shown = await self._prepare(slot, command, handling, closing)
            slot.shown = None  # unless the slot says that it came so far
            ended = await slot.run(request, handling)
        if ended.raw.end is wire.End.FAULT:
            if ended.raw.step == "init-died":
                slot.die()  # as it will of itself
            raise SandboxFault(
                f"The sandbox could not run {command.argv[0]}: step {ended.raw.step} failed "
                f"({os.strerror(ended.raw.error)})."
            )
        slot.shown = shown
        return make_report(ended.raw, command.limits, ended.stdout, ended.stderr)

    async def _prepare(
        self, slot: Slot, command: Command, handling: Handling, closing: ExitStack
    ) -> tuple[Request, Shown]:
        """The run as the slot takes it, and what the slot shows from then on."""
        flags = wire.RequestFlag(0)
        if handling.stage is not None:
            flags |= wire.RequestFlag.STAGE
        if handling.collect is not None:
            flags |= wire.RequestFlag.HOLD
        if handling.gate is not None:
            flags |= wire.RequestFlag.PAIRED
        if command.address_space:
            flags |= wire.RequestFlag.ADDRESS_SPACE
        shown = slot.shown or Shown()
        code = await self._show(command.code, shown.code, CODE, closing)
        data = await self._show(command.data, shown.data, DATA, closing)
        limits = command.limits
        packet = wire.pack_request(
            command.argv,
            command.environment,
            limits,
            self.profile_index(command.profile),
            flags | code.flag | data.flag,
        )
        mounts = code.mounts + data.mounts
        request = Request(packet, mounts, limits.output_bytes, limits.wall_ms / 1000)
        return request, Shown(code.identity, data.identity)

    async def _show(
        self,
        directory: Path | None,
        shown: DirectoryId | None,
        place: "CodeMount",
        closing: ExitStack,
    ) -> "MountCache":
        """What to tell a slot of one directory, with a mount unless it shows that already."""
        if directory is None:
            return MountCache(wire.RequestFlag(0), None)  # what is there will be taken away
        if identify(directory) == shown:
            return MountCache(place.same, shown)
        mount = await self._pool.attach(directory, place.order)
        closing.callback(os.close, mount)
        # By the mount: the path may have come to lead elsewhere meanwhile.
        return MountCache(place.new, identify(mount), (mount,))

    @asynccontextmanager
    async def raw_slot(self) -> AsyncIterator[Slot]:
        """A slot with its channel in blocking mode, for measurements beside this API."""
        [slot] = await self._pool.take([Shown()])
        loop = asyncio.get_running_loop()
        loop.remove_reader(slot.channel)
        slot.channel.setblocking(True)
        slot.shown = None
        try:
            yield slot
        finally:
            slot.channel.setblocking(False)
            loop.add_reader(slot.channel, slot.hear)
            self._pool.give_back(slot)

    def profile_index(self, profile: str) -> int:
        index = self._pool.config.policy.index.get(profile)
        if index is None:
            raise Refused(f"There is no sandbox profile {profile!r}.")
        return index


@dataclass(frozen=True, slots=True)
class CodeMount:
    """/code or /data, in the runner's words."""

    same: wire.RequestFlag
    new: wire.RequestFlag
    order: wire.Instruction


CODE = CodeMount(wire.RequestFlag.SAME_CODE, wire.RequestFlag.CODE, wire.Instruction.ATTACH)
DATA = CodeMount(
    wire.RequestFlag.SAME_DATA, wire.RequestFlag.DATA, wire.Instruction.ATTACH_DATA
)


@dataclass(frozen=True, slots=True)
class MountCache:
    flag: wire.RequestFlag
    identity: DirectoryId | None
    mounts: tuple[int, ...] = ()


def wanted_by(command: Command) -> Shown:
    """What a box has to show for it."""
    return Shown(
        None if command.code is None else identify(command.code),
        None if command.data is None else identify(command.data),
    )


def identify(directory: Path | int) -> DirectoryId:
    status = os.fstat(directory) if isinstance(directory, int) else directory.stat()
    return status.st_dev, status.st_ino
