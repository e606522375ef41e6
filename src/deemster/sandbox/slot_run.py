"""One run in a slot: opens and serves its streams, starts it, and waits for its report."""

import asyncio
import os
from contextlib import closing
from dataclasses import dataclass

from deemster.sandbox import wire
from deemster.sandbox.runner import SandboxFault
from deemster.sandbox.slot import GRACE_S, RawAndScratch, RunIO, Slot, StagingSocket
from deemster.sandbox.streams import (
    DirectStream,
    OutputPipe,
    Stream,
    open_input,
    open_output,
)

READ_AFTER_S = 0.004
"""Output is read after this time, or else when the program has ended: a pipe holds 64 KiB, and
a short run needs no other turn of the event loop than that of its report."""


@dataclass(frozen=True, slots=True)
class SlotRequest:
    packet: bytes
    mounts: tuple[int, ...]
    output_bytes: int
    wall_s: float


@dataclass(frozen=True, slots=True)
class SlotResult:
    """A report, and for each output stream its bytes and whether it was truncated."""

    raw: wire.RawReport
    stdout: tuple[bytes, bool]
    stderr: tuple[bytes, bool]


class SlotRun:
    """One run in a slot: its streams are open, and it can be started at any time."""

    def __init__(
        self, slot: Slot, request: SlotRequest, io: RunIO, *, has_end_event: bool = False
    ) -> None:
        self._slot = slot
        self._request = request
        self._io = io
        self.sent: asyncio.Future[RawAndScratch] | None = None
        """Its report, once the request was sent."""
        self._staging: StagingSocket | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._is_over = False
        """It has ended, or somebody else ends it."""
        self.end_event = os.eventfd(0) if has_end_event else -1
        """Another run may wait for it."""
        self._streams: list[Stream] = []
        size = request.output_bytes
        try:
            self._streams.append(stdin := open_input(io.stdin))
            self._streams.append(out := open_output(io.stdout, size, slot.cancel))
            errors = io.stderr
            if errors is not None and errors is io.stdout:
                # One pipe, so that the order of what the program writes is kept.
                errors = DirectStream(os.dup(out.child_fd))
            self._streams.append(err := open_output(errors, size, slot.cancel))
        except BaseException:
            self.close()
            raise
        self._stdin, self._out, self._err = stdin, out, err

    def start(self) -> None:
        """Sends the request, for which the slot must be free."""
        report = self._send()
        if self._io.stage is None:
            self._expect_report(report)

    def start_when_ended(self, earlier: "SlotRun") -> None:
        """Starts this run as soon as another one, which is still open, has ended with a report.

        The request is sent now, and the slot waits for the event of the other run's end.
        """
        assert earlier.sent is not None, "it was started"
        assert earlier.end_event >= 0, "it was prepared, and is open"
        try:
            report = self._send(earlier.end_event)
        except SandboxFault as fault:
            self.sent = self._slot.loop.create_future()
            self.sent.set_exception(fault)
            self.sent.exception()  # marks it as retrieved: nobody may ask for the result
            return
        if earlier.sent.done():
            self._expect_report(report)
        else:
            earlier.sent.add_done_callback(lambda _: self._expect_report(report))

    def _send(self, awaited: int = -1) -> asyncio.Future[RawAndScratch]:
        """`awaited`: the event after which the program starts."""
        slot, request, io = self._slot, self._request, self._io
        fds = [self._stdin.child_fd, self._out.child_fd, self._err.child_fd, *request.mounts]
        flags = 0
        if awaited >= 0:
            flags |= wire.RequestFlag.AWAIT_EVENT
            fds.append(awaited)
        if self.end_event >= 0:
            flags |= wire.RequestFlag.TELL_END
            fds.append(self.end_event)
        packet = wire.with_flags(request.packet, flags) if flags else request.packet
        report, self._staging = slot.send_request(packet, fds, staged=io.stage is not None)
        self.sent = report
        if self.end_event >= 0:
            report.add_done_callback(self._tell_end)
        for stream in self._streams:
            stream.start(slot.loop)
        return report

    def _tell_end(self, report: asyncio.Future[RawAndScratch]) -> None:
        """Init has told it already, unless it had to end with its run."""
        if self.end_event >= 0 and not report.cancelled() and report.exception() is None:
            os.eventfd_write(self.end_event, 1)

    async def result(self) -> SlotResult:
        """Waits until the program has ended, after the run was started."""
        report, io, slot = self.sent, self._io, self._slot
        assert report is not None, "it was started"
        if io.stage is not None and self._staging is not None:
            self._is_over = True  # if this fails, it also ends the run
            await slot.stage_and_start(io, io.stage, self._staging, report)
            self._is_over = False
            self._expect_report(report)
        if io.on_start is not None:
            io.on_start()
        raw, scratch = await report
        self._is_over = True
        self._stop_timer()
        if scratch >= 0:
            failed = raw.end is wire.End.FAULT
            await slot.collect(None if failed else io.collect, scratch)
        out, err = self._out, self._err
        return SlotResult(raw, (out.finish(), out.truncated), (err.finish(), err.truncated))

    def _expect_report(self, report: asyncio.Future[RawAndScratch]) -> None:
        if self._is_over or report.done():
            return
        self._timer = self._slot.loop.call_later(READ_AFTER_S, self._follow, report)

    def _follow(self, report: asyncio.Future[RawAndScratch]) -> None:
        """Called if the run is not a short one."""
        loop, timeout_s = self._slot.loop, self._request.wall_s + GRACE_S
        self._timer = loop.call_later(timeout_s, self._slot.expire, report)
        for output in (self._out, self._err):
            if isinstance(output, OutputPipe):
                output.follow(loop)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def close(self) -> None:
        """Closes the streams and ends a program that still runs."""
        self._stop_timer()
        if self.sent is not None and not self._is_over:
            self._slot.abandon(self.sent)
        self._is_over = True
        for stream in self._streams:
            stream.close()
        if self.end_event >= 0:
            os.close(self.end_event)
            self.end_event = -1


async def run_in_slot(slot: Slot, request: SlotRequest, io: RunIO) -> SlotResult:
    """Runs one program to its end; a cancelled caller returns at once and ends it."""
    with closing(SlotRun(slot, request, io)) as run:
        if io.before_start is not None and io.stage is None:
            await io.before_start()
        run.start()
        return await run.result()
