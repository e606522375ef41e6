"""Two runs that talk to each other through kernel pipes, and the clock that they share."""

import asyncio
import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from deemster.domain.run_status import RunStatus
from deemster.sandbox.hang import Hang, PairMember, Side, observe_hang
from deemster.sandbox.live_streams import CHUNK_BYTES
from deemster.sandbox.pipe import Pipe
from deemster.sandbox.recorded_pipe import PipeCopy, Record
from deemster.sandbox.streams import DirectStream
from deemster.sandbox.wire import Report

CancelRule = Callable[[Report], bool]
"""Whether the report of a companion that ended first cancels the program."""
RecordSide = Callable[[Side, bytes], None]
"""Called with what a side wrote."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The result of a pair; the reports hold no stdout, which went to the other side."""

    program: Report
    companion: Report
    ended_first: Side
    """By the recorded times, in which a cause always precedes its consequence."""
    hang: Hang | None = None
    """Set if the pair's own clock ended it."""


class PipeDrain:
    """Keeps a pipe open for its writer, and can discard what is written to it."""

    def __init__(self, pipe: Pipe, closing: ExitStack) -> None:
        self._fd = pipe.open(os.O_RDONLY)
        closing.callback(self._close)

    def start(self, _: object = None) -> None:
        """Starts to discard, once the pipe has no other reader."""
        if self._fd >= 0:
            asyncio.get_running_loop().add_reader(self._fd, self._read)

    def _read(self) -> None:
        try:
            ended = not os.read(self._fd, CHUNK_BYTES)
        except BlockingIOError:
            return
        if ended:
            asyncio.get_running_loop().remove_reader(self._fd)

    def _close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._fd)
        os.close(self._fd)
        self._fd = -1


class PairRun:
    """The two pipes of a pair, its common start and its clock."""

    def __init__(
        self,
        closing: ExitStack,
        *,
        drain_unread: bool,
        hold_output: bool = False,
        record: RecordSide | None = None,
    ) -> None:
        self.to_program = Pipe(closing)
        self.to_companion = Pipe(closing)
        self.program_output = self.to_companion.writer
        self.companion_output = self.to_program.writer
        if record is not None:
            self.program_output = self._recorded(
                self.to_companion, partial(record, "program"), closing
            )
            self.companion_output = self._recorded(
                self.to_program, partial(record, "companion"), closing
            )
        self._drain = PipeDrain(self.to_program, closing) if drain_unread else None
        self._hold = ExitStack()
        """Keeps the program's output open; closed when the program has ended."""
        closing.enter_context(self._hold)
        if hold_output:
            self._hold.callback(os.close, self.to_companion.open(os.O_WRONLY))
        self._ready = asyncio.Barrier(2)
        self._started = asyncio.Event()

    @staticmethod
    def _recorded(pipe: Pipe, record: Record, closing: ExitStack) -> DirectStream:
        """Returns where to write instead of `pipe`; a copy of it arrives there."""
        first = Pipe(closing)
        PipeCopy(first.reader, pipe.writer, record, closing)
        return first.writer

    async def wait_for_both(self) -> None:
        """Lets both start at the same moment."""
        await self._ready.wait()
        self._started.set()

    async def supervise(
        self,
        program: PairMember,
        companion: PairMember,
        cancel_rule: CancelRule,
        *,
        wall_s: float,
        margin_s: float,
    ) -> Hang | None:
        """Waits until both have ended or are being ended."""
        if self._drain is not None:
            program.task.add_done_callback(self._drain.start)
        program.task.add_done_callback(lambda _: self._hold.close())
        await self._started.wait()
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + wall_s
        both = {program.task, companion.task}
        ended, _ = await asyncio.wait(both, timeout=wall_s, return_when=asyncio.FIRST_COMPLETED)
        hang = None
        if not ended:
            hang = await observe_hang(self.to_companion, self.to_program, program, companion)
        if hang is None and companion.task.done() and not program.task.done():
            if cancel_rule(companion.task.result()):
                program.end()
                return None
            await asyncio.wait({program.task}, timeout=max(0.0, deadline_s - loop.time()))
            hang = Hang("program")
        elif hang is None and not companion.task.done():
            deadline_s += margin_s
            await asyncio.wait({companion.task}, timeout=max(0.0, deadline_s - loop.time()))
            hang = Hang("companion")
        program.end()
        companion.end()
        return hang

    def conclude(self, program: Report, companion: Report, hang: Hang | None) -> Pair:
        first: Side = "program" if program.ended_ns <= companion.ended_ns else "companion"
        # Both may have ended by themselves while the blame was being found.
        hung = RunStatus.CANCELLED in {program.status, companion.status}
        return Pair(program, companion, first, hang if hung else None)
