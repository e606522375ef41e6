"""One slot of a runner: sends it a run, watches its streams, takes its report."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass

from deemster.sandbox import wire
from deemster.sandbox.runner import SandboxFault, send_with_fds
from deemster.sandbox.staging import Stage, stage_as_program
from deemster.sandbox.streams import Direct, OutputPipe, Sink, Source, open_input, open_output

GRACE_S = 30.0
"""How long after its wall limit a run's report may take before the slot is given up."""

DirectoryId = tuple[int, int]
"""Device and inode."""

Collect = Callable[[int], object]
"""Reads what it wants from the scratch, given as a descriptor, before that is wiped."""

Gate = Callable[[], Awaitable[object]]

RawAndScratch = tuple[wire.RawReport, int]
"""A report, and a descriptor of the scratch that came with it, or -1."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The host directories at /code and /data."""

    code: DirectoryId | None = None
    data: DirectoryId | None = None


@dataclass(frozen=True, slots=True)
class Handling:
    """What Python itself does for a run, outside the box."""

    stdin: Source | Direct = b""
    stdout: Sink | Direct | None = None
    stderr: Sink | None = None
    stage: Stage | None = None
    collect: Collect | None = None
    gate: Gate | None = None
    """Awaited when all is ready, just before the program starts."""


@dataclass(frozen=True, slots=True)
class Request:
    """A run as the slot takes it."""

    packet: bytes
    mounts: tuple[int, ...]
    output_bytes: int
    wall_s: float


@dataclass(frozen=True, slots=True)
class Ended:
    raw: wire.RawReport
    stdout: tuple[bytes, bool]
    stderr: tuple[bytes, bool]


class Slot:
    """Serves one run at a time. `on_free` and `on_dead` tell the pool what became of it."""

    def __init__(
        self,
        number: int,
        channel: socket.socket,
        on_free: Callable[["Slot"], None],
        on_dead: Callable[["Slot"], None],
    ) -> None:
        channel.setblocking(False)
        self.number = number
        self.channel = channel
        self.shown: Shown | None = Shown()
        """None while that is not known for certain."""
        self.held = False
        """Somebody took it and has not given it back."""
        self._on_free = on_free
        self._on_dead = on_dead
        self._loop = asyncio.get_running_loop()
        self._report: asyncio.Future[RawAndScratch] | None = None
        self._lent: asyncio.Future[int] | None = None
        """The scratch, once it is there to be filled."""
        self._abandoned = False
        self._collecting = False
        self._left_collecting = False
        self.stuck = False
        """It gave no report in time: closing its channel can't be relied on to end it."""
        self._loop.add_reader(channel, self.hear)

    async def run(self, request: Request, handling: Handling) -> Ended:
        """Runs one request to its end. A cancelled caller leaves at once; the program dies."""
        with ExitStack() as closing:
            stdin = open_input(handling.stdin)
            closing.callback(stdin.close)
            out = open_output(handling.stdout, request.output_bytes, self.cancel)
            closing.callback(out.close)
            err = OutputPipe(request.output_bytes, handling.stderr, self.cancel)
            closing.callback(err.close)
            if handling.gate is not None and handling.stage is None:
                await handling.gate()
            fds = [stdin.given, out.given, err.given, *request.mounts]
            report = self._send(request.packet, fds)
            for stream in (stdin, out, err):
                stream.start(self._loop)
            if handling.stage is not None:
                await self._let_stage(handling.stage, handling.gate, report)
            raw, scratch = await self._await_report(report, request.wall_s + GRACE_S)
            if scratch >= 0:
                failed = raw.end is wire.End.FAULT
                await self._let_collect(None if failed else handling.collect, scratch)
            return Ended(raw, (out.finish(), out.truncated), (err.finish(), err.truncated))

    def _send(self, packet: bytes, fds: list[int]) -> asyncio.Future[RawAndScratch]:
        report = self._report = self._loop.create_future()
        try:
            send_with_fds(self.channel, packet, fds)
        except OSError as error:
            self._report = None
            self.die()
            raise SandboxFault("The sandbox slot is gone; try again.") from error
        return report

    # -- before the program starts --

    async def _let_stage(
        self, stage: Stage, gate: Gate | None, report: asyncio.Future[RawAndScratch]
    ) -> None:
        """Has the scratch filled, in a thread, and starts the program.

        Who waits for that may leave, but the run is ended only once the thread has let go of
        the scratch: nothing that it still writes may turn up in another run.
        """
        scratch = await self._await_scratch(report)
        if scratch < 0:
            return
        staging = self._loop.run_in_executor(None, stage_as_program, stage, scratch)
        staging.add_done_callback(lambda _: os.close(scratch))
        try:
            await asyncio.shield(staging)
        except BaseException:  # ours, or the stage's own
            if report.done():
                self._pass_over(report)
            else:
                self._abandoned = True
            staging.add_done_callback(self._end_staging)
            raise
        if gate is not None:
            try:
                await gate()
            except BaseException:
                self._leave(report)
                raise
        self._order(wire.Instruction.START)

    async def _await_scratch(self, report: asyncio.Future[RawAndScratch]) -> int:
        """A descriptor of the scratch, or -1 when a report came instead."""
        lent = self._lent = self._loop.create_future()
        try:
            either = asyncio.FIRST_COMPLETED
            await asyncio.wait([lent, report], timeout=GRACE_S, return_when=either)
        except asyncio.CancelledError:
            if lent.done():
                os.close(lent.result())
            self._leave(report)
            raise
        finally:
            self._lent = None
        if not lent.done() and not report.done():
            raise self._given_up()
        return lent.result() if lent.done() else -1

    def _end_staging(self, staging: asyncio.Future[None]) -> None:
        if not staging.cancelled():
            staging.exception()  # the caller heard of it, or left
        self.cancel()

    # -- its end --

    async def _await_report(
        self, report: asyncio.Future[RawAndScratch], timeout_s: float
    ) -> RawAndScratch:
        try:
            await asyncio.wait([report], timeout=timeout_s)
        except asyncio.CancelledError:
            self._leave(report)
            raise
        if not report.done():
            raise self._given_up()
        return report.result()

    def _leave(self, report: asyncio.Future[RawAndScratch]) -> None:
        if report.done():  # it came in the same moment
            self._pass_over(report)
        else:
            self._abandoned = True
            self.cancel()

    def _pass_over(self, report: asyncio.Future[RawAndScratch]) -> None:
        if report.exception() is None and report.result()[1] >= 0:
            self._release(report.result()[1])

    def _given_up(self) -> SandboxFault:
        self.stuck = self._abandoned = True
        self.die()
        return SandboxFault("The sandbox did not answer in time; try again.")

    async def _let_collect(self, collect: Collect | None, scratch: int) -> None:
        """Lets the collector read, in a thread; who waits for it may leave."""
        if collect is None:
            self._release(scratch)
            return
        self._collecting = True
        reading = self._loop.run_in_executor(None, collect, scratch)
        reading.add_done_callback(lambda _: self._end_collecting(scratch))
        try:
            await asyncio.shield(reading)
        except asyncio.CancelledError:
            self._left_collecting = self._collecting  # it may have ended in the same moment
            reading.add_done_callback(lambda done: done.exception())  # nobody else hears of it
            raise

    def _end_collecting(self, scratch: int) -> None:
        self._collecting = False
        self._release(scratch)
        if self._left_collecting:
            self._left_collecting = False
            self._on_free(self)

    def _release(self, scratch: int) -> None:
        os.close(scratch)
        self._order(wire.Instruction.RELEASE)

    # -- the channel --

    def cancel(self) -> None:
        """Ends the running program; its report still comes."""
        self._order(wire.Instruction.CANCEL)

    def _order(self, order: wire.Instruction) -> None:
        try:
            self.channel.send(wire.pack_order(order))
        except OSError:
            self.die()

    def hear(self) -> None:
        try:
            packet, fds, _, _ = socket.recv_fds(self.channel, wire.REPORT.size, 1)
        except BlockingIOError:
            return
        except OSError:
            packet, fds = b"", []
        if not packet:
            self.die()
        elif len(packet) == wire.ORDER.size:
            self._hear_note(wire.unpack_note(packet), fds)
        else:
            self._hear_report(packet, fds[0] if fds else -1)

    def _hear_note(self, note: wire.Note, fds: list[int]) -> None:
        assert note is wire.Note.STAGE
        if self._lent is not None and not self._lent.done():
            self._lent.set_result(fds[0])
        else:  # who asked for it has left
            os.close(fds[0])

    def _hear_report(self, packet: bytes, scratch: int) -> None:
        report, self._report = self._report, None
        if report is None:  # nobody asked for one
            self.die()
        elif self._abandoned:
            self._abandoned = False
            if scratch >= 0:
                self._release(scratch)
            self._on_free(self)
        elif not report.done():
            report.set_result((wire.unpack_report(packet), scratch))

    @property
    def busy_for_nobody(self) -> bool:
        """Its caller has left; it frees itself once the report is in and the scratch read."""
        return self._abandoned or self._collecting

    def die(self) -> None:
        """Closes the channel: the runner makes the slot anew; its run is to be repeated."""
        if self.channel.fileno() < 0:
            return
        self._loop.remove_reader(self.channel)
        self.channel.close()
        report, self._report = self._report, None
        if report is not None and not report.done() and not self._abandoned:
            report.set_exception(
                SandboxFault("The sandbox slot died in the middle of a run; try again.")
            )
        self._on_dead(self)

    @property
    def dead(self) -> bool:
        return self.channel.fileno() < 0
