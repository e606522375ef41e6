"""One slot of a runner: sends it a run, watches its streams, takes its report."""

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from deemster.sandbox import wire
from deemster.sandbox.runner import SandboxFault, send_with_fds
from deemster.sandbox.streams import InputPump, OutputPipe, Sink, open_input

GRACE_S = 30.0
"""How long after its wall limit a run's report may take before the slot is given up."""

CodeId = tuple[int, int]
"""Device and inode of a directory."""

Collect = Callable[[int], object]
"""Reads what it wants from the scratch, given as a descriptor, before that is wiped."""


@dataclass(frozen=True, slots=True)
class Streams:
    stdin: bytes | int = b""
    """Bytes, or a descriptor to read them from."""
    stdout: Sink | None = None
    stderr: Sink | None = None


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
        self.code: CodeId | None = None
        """What is at /code now."""
        self._on_free = on_free
        self._on_dead = on_dead
        self._loop = asyncio.get_running_loop()
        self._report: asyncio.Future[tuple[wire.RawReport, int]] | None = None
        self._abandoned = False
        self._collecting = False
        self._left_collecting = False
        self.stuck = False
        """It gave no report in time: closing its channel can't be relied on to end it."""
        self._loop.add_reader(channel, self.hear)

    async def run(
        self,
        packet: bytes,
        streams: Streams,
        *,
        output_bytes: int,
        wall_s: float,
        code_fd: int | None,
        collect: Collect | None,
    ) -> Ended:
        """Runs one request to its end. A cancelled caller leaves at once; the program dies."""
        with ExitStack() as closing:
            out = OutputPipe(output_bytes, streams.stdout, self.cancel)
            closing.callback(out.close)
            err = OutputPipe(output_bytes, streams.stderr, self.cancel)
            closing.callback(err.close)
            pump: InputPump | None = None
            if isinstance(streams.stdin, int):
                pump = InputPump(streams.stdin)
                closing.callback(pump.close)
                stdin = pump.reader
            else:
                stdin = open_input(streams.stdin)
                closing.callback(os.close, stdin)
            extra = [] if code_fd is None else [code_fd]
            self._send(packet, [stdin, out.writer, err.writer, *extra])
            for stream in (pump, out, err):
                if stream is not None:
                    stream.start(self._loop)
            raw, scratch = await self._await_report(wall_s + GRACE_S)
            if scratch >= 0:
                failed = raw.end is wire.End.FAULT
                await self._let_collect(None if failed else collect, scratch)
            return Ended(raw, (out.finish(), out.truncated), (err.finish(), err.truncated))

    def _send(self, packet: bytes, fds: list[int]) -> None:
        self._report = self._loop.create_future()
        try:
            send_with_fds(self.channel, packet, fds)
        except OSError as error:
            self.die()
            raise SandboxFault("The sandbox slot is gone; try again.") from error

    async def _await_report(self, timeout_s: float) -> tuple[wire.RawReport, int]:
        report = self._report
        assert report is not None
        try:
            await asyncio.wait([report], timeout=timeout_s)
        except asyncio.CancelledError:
            if report.done():  # it came in the same moment
                self._pass_over(report)
            else:
                self._abandoned = True
                self.cancel()
            raise
        if not report.done():
            self.stuck = self._abandoned = True
            self.die()
            raise SandboxFault("The sandbox did not answer in time; try again.")
        return report.result()

    def _pass_over(self, report: asyncio.Future[tuple[wire.RawReport, int]]) -> None:
        if report.exception() is None and report.result()[1] >= 0:
            self._release(report.result()[1])

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
        self._order(wire.Order.RELEASE)

    def cancel(self) -> None:
        """Ends the running program; its report still comes."""
        self._order(wire.Order.CANCEL)

    def _order(self, order: wire.Order) -> None:
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
            return
        report, self._report = self._report, None
        scratch = fds[0] if fds else -1
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
