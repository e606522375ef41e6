"""One slot of a runner: sends it requests and instructions, and receives its reports."""

import asyncio
import fcntl
import os
import socket
import termios
from array import array
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from deemster.sandbox import wire
from deemster.sandbox.live_streams import LiveInput, LiveOutput
from deemster.sandbox.runner import SandboxFault
from deemster.sandbox.staging import Scratch, Stage
from deemster.sandbox.streams import (
    DirectStream,
    Sink,
    Source,
)

GRACE_S = 30.0
"""How long after its wall limit a run's report may take before the slot is given up."""

MAX_UNREAD_BYTES = 32 * 1024
"""With more in the channel, signals are dropped: a later instruction to cancel must fit."""

DirectoryId = tuple[int, int]
"""Device and inode."""

Collect = Callable[[int], object]
"""Reads files from the scratch directory, given as a descriptor, before it is wiped."""

StagingSocket = socket.socket
"""Python's end of the socket by which files are put into the scratch directory."""

RawAndScratch = tuple[wire.RawReport, int]
"""A report, and a descriptor of the scratch directory that came with it, or -1."""


@dataclass(frozen=True, slots=True)
class Mounts:
    """The host directories at /code and /data."""

    code: DirectoryId | None = None
    data: DirectoryId | None = None


@dataclass(frozen=True, slots=True)
class RunIO:
    """The streams and callbacks that Python serves for one run."""

    stdin: Source | DirectStream | LiveInput = b""
    stdout: Sink | DirectStream | LiveOutput | None = None
    stderr: Sink | DirectStream | LiveOutput | None = None
    stage: Stage | None = None
    collect: Collect | None = None
    before_start: Callable[[], Awaitable[object]] | None = None
    """Awaited after staging, just before the program starts."""
    on_start: Callable[[], None] | None = None
    """Called when the program can be cancelled and sent signals."""
    terminal: bool = False
    """All three streams are one terminal, which becomes the controlling one."""


class Slot:
    """Runs one program at a time.

    Calls `on_free` when an abandoned run has ended, and `on_close` when the slot is lost.
    """

    def __init__(
        self,
        event: wire.RunnerEvent,
        channel: socket.socket,
        on_free: Callable[["Slot"], None],
        on_close: Callable[["Slot"], None],
    ) -> None:
        channel.setblocking(False)
        self.number = event.slot
        self.uid = event.uid
        """Of its programs, outside their box."""
        self.spawner_pid = event.pid
        self.channel = channel
        self.mounts: Mounts | None = Mounts()
        """None while a run may have changed them."""
        self.acquired = False
        self._on_free = on_free
        self._on_close = on_close
        self.loop = asyncio.get_running_loop()
        self._report: asyncio.Future[RawAndScratch] | None = None
        self._stageable: asyncio.Future[None] | None = None
        """Done when a run's scratch can be filled; only while the run waits for that."""
        self._abandoned = False
        self._collecting = False
        self._collecting_abandoned = False
        self.stuck = False
        """It sent no report in time, so closing its channel may not end it."""
        self.loop.add_reader(channel, self.receive)

    def send_request(
        self, packet: bytes, fds: list[int], *, staged: bool
    ) -> tuple[asyncio.Future[RawAndScratch], StagingSocket | None]:
        """Returns the future report and, if files are to be staged, the socket for that."""
        if not staged:
            return self._send_run(packet, fds), None
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:  # closed here, so that the end of the slot is noticed
            try:
                return self._send_run(packet, [*fds, theirs.fileno()]), ours
            except SandboxFault:
                ours.close()
                raise

    def _send_run(self, packet: bytes, fds: list[int]) -> asyncio.Future[RawAndScratch]:
        report = self._report = self.loop.create_future()
        try:
            socket.send_fds(self.channel, [packet], fds)
        except OSError as error:
            self._report = None
            self.close()
            raise SandboxFault("The sandbox slot is gone; try again.") from error
        return report

    # -- before the program starts --

    async def stage_and_start(
        self,
        io: RunIO,
        stage: Stage,
        channel: StagingSocket,
        report: asyncio.Future[RawAndScratch],
    ) -> None:
        """Fills the scratch in a thread, then starts the program.

        If the caller is cancelled, the run ends only after the thread is done with the
        scratch, so that nothing the thread writes can appear in another run.
        """
        try:
            if not await self._can_stage(report):
                channel.close()
                return
        except BaseException:
            channel.close()
            raise
        staging = self.loop.run_in_executor(None, stage, Scratch(channel))
        staging.add_done_callback(lambda _: channel.close())
        try:
            await asyncio.shield(staging)
        except BaseException:
            if report.done():
                self._discard_report(report)
            else:
                self._abandoned = True
            staging.add_done_callback(self._cancel_after_staging)
            raise
        if io.before_start is not None:
            try:
                await io.before_start()
            except BaseException:
                self.abandon(report)
                raise
        self._send(wire.Instruction.START)

    async def _can_stage(self, report: asyncio.Future[RawAndScratch]) -> bool:
        """Waits until the scratch can be filled; False: a report came instead."""
        received = self._stageable = self.loop.create_future()
        try:
            first = asyncio.FIRST_COMPLETED
            await asyncio.wait([received, report], timeout=GRACE_S, return_when=first)
        except asyncio.CancelledError:
            self.abandon(report)
            raise
        finally:
            self._stageable = None
        if not received.done() and not report.done():
            raise self._give_up()
        return received.done()

    def _cancel_after_staging(self, staging: asyncio.Future[object]) -> None:
        if not staging.cancelled():
            staging.exception()  # marks it as retrieved: the caller got it or was cancelled
        self.cancel()

    # -- after the program has ended --

    def expire(self, report: asyncio.Future[RawAndScratch]) -> None:
        if not report.done():
            report.set_exception(self._give_up())

    def abandon(self, report: asyncio.Future[RawAndScratch]) -> None:
        if self._report is not report:  # it arrived together with the cancellation
            self._discard_report(report)
        else:
            self._abandoned = True
            self.cancel()

    def _discard_report(self, report: asyncio.Future[RawAndScratch]) -> None:
        if report.cancelled() or report.exception() is not None:
            return
        if report.result()[1] >= 0:
            self._release_scratch(report.result()[1])

    def _give_up(self) -> SandboxFault:
        self.stuck = self._abandoned = True
        self.close()
        return SandboxFault("The sandbox did not answer in time; try again.")

    async def collect(self, collect: Collect | None, scratch: int) -> None:
        """Runs the collector in a thread, which goes on if the caller is cancelled."""
        if collect is None:
            self._release_scratch(scratch)
            return
        self._collecting = True
        collecting = self.loop.run_in_executor(None, collect, scratch)
        collecting.add_done_callback(lambda _: self._end_collecting(scratch))
        try:
            await asyncio.shield(collecting)
        except asyncio.CancelledError:
            self._collecting_abandoned = self._collecting  # it may have just ended
            collecting.add_done_callback(lambda done: done.exception())  # marks as retrieved
            raise

    def _end_collecting(self, scratch: int) -> None:
        self._collecting = False
        self._release_scratch(scratch)
        if self._collecting_abandoned:
            self._collecting_abandoned = False
            self._on_free(self)

    def _release_scratch(self, scratch: int) -> None:
        os.close(scratch)
        self._send(wire.Instruction.RELEASE)

    # -- the channel --

    def cancel(self) -> None:
        """Ends the running program; its report still arrives."""
        self._send(wire.Instruction.CANCEL)

    def send_signal(self, number: int) -> None:
        """Sends a signal to the process group of the running program."""
        packet = wire.pack_signal(number)
        if self.closed or _unread_bytes(self.channel) > MAX_UNREAD_BYTES:
            return
        self._send_packet(packet)

    def _send(self, instruction: wire.Instruction) -> None:
        self._send_packet(wire.pack_instruction(instruction))

    def _send_packet(self, packet: bytes) -> None:
        try:
            self.channel.send(packet)
        except OSError:
            self.close()

    def receive(self) -> None:
        """Handles one message from the slot."""
        try:
            packet, ancillary, _, _ = self.channel.recvmsg(wire.REPORT.size, ONE_DESCRIPTOR)
        except BlockingIOError:
            return
        except OSError:
            packet, ancillary = b"", []
        if not packet:
            self.close()
        elif len(packet) == wire.INSTRUCTION.size:
            self._receive_note(wire.unpack_note(packet))
        else:
            self._receive_report(packet, descriptor_in(ancillary))

    def _receive_note(self, note: wire.Note) -> None:
        assert note is wire.Note.STAGE
        if self._stageable is not None and not self._stageable.done():
            self._stageable.set_result(None)  # otherwise the caller was cancelled

    def _receive_report(self, packet: bytes, scratch: int) -> None:
        report, self._report = self._report, None
        if report is None:  # no run is under way
            self.close()
        elif self._abandoned:
            self._abandoned = False
            if scratch >= 0:
                self._release_scratch(scratch)
            self._on_free(self)
        elif not report.done():
            report.set_result((wire.unpack_report(packet), scratch))
        elif scratch >= 0:  # the caller has just been cancelled
            self._release_scratch(scratch)

    @property
    def finishing(self) -> bool:
        """Its caller was cancelled, and its report or its collector is still outstanding."""
        return self._abandoned or self._collecting

    def close(self) -> None:
        """Closes the channel, which ends the run; the runner then makes a new slot."""
        if self.closed:
            return
        self.loop.remove_reader(self.channel)
        self.channel.close()
        report, self._report = self._report, None
        if report is not None and not report.done() and not self._abandoned:
            report.set_exception(
                SandboxFault("The sandbox slot died in the middle of a run; try again.")
            )
        self._on_close(self)

    @property
    def closed(self) -> bool:
        return self.channel.fileno() < 0


ONE_DESCRIPTOR = socket.CMSG_LEN(array("i").itemsize)


def descriptor_in(ancillary: list[tuple[int, int, bytes]]) -> int:
    """The descriptor that came with a message, or -1."""
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            return array("i", data)[0]
    return -1


def _unread_bytes(channel: socket.socket) -> int:
    count = array("i", [0])
    fcntl.ioctl(channel, termios.TIOCOUTQ, count)
    return count[0]
