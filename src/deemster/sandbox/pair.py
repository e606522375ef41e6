"""Two runs that talk to each other through kernel pipes, and the clock that they share."""

import asyncio
import fcntl
import os
import select
import termios
from array import array
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal

from deemster.domain.run_status import RunStatus
from deemster.sandbox.live_streams import CHUNK_BYTES
from deemster.sandbox.recorded_pipe import PipeCopy, Record
from deemster.sandbox.streams import DirectStream
from deemster.sandbox.wire import Report

Side = Literal["program", "companion"]
CancelRule = Callable[[Report], bool]
"""Whether the report of a companion that ended first cancels the program."""
RecordSide = Callable[[Side, bytes], None]
"""Called with what a side wrote."""

SAMPLES: Final = 100
SAMPLE_INTERVAL_S: Final = 0.002
"""A single sample says little: two programs that talk always have data in a pipe, and on a busy
machine neither may run for a while."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The result of a pair; the reports hold no stdout, which went to the other side."""

    program: Report
    companion: Report
    ended_first: Side
    """By the recorded times, in which a cause always precedes its consequence."""
    hung: bool = False
    """The pair's own clock ended it."""
    blame: Side | None = None
    """The side that kept a hung pair from going on."""
    flooded: bool = False
    """The program was still writing, faster than the companion read."""


class Pipe:
    """A pipe from one program to the other, whose state can be read without side effects."""

    def __init__(self, closing: ExitStack) -> None:
        reader, writer = os.pipe2(os.O_CLOEXEC)
        self.reader, self.writer = DirectStream(reader), DirectStream(writer)
        closing.callback(self.reader.close)
        closing.callback(self.writer.close)
        # An O_PATH descriptor counts as neither reader nor writer.
        self._path = os.open(f"/proc/self/fd/{reader}", os.O_PATH | os.O_CLOEXEC)
        closing.callback(os.close, self._path)
        self._allow_all()

    def has_ended(self) -> bool:
        """Whether the pipe has no writer left."""
        return bool(self._poll(os.O_RDONLY, select.POLLIN) & select.POLLHUP)

    def is_full(self) -> bool:
        return not self._poll(os.O_WRONLY, select.POLLOUT)

    def open(self, mode: int) -> int:
        self._allow_all()  # without root a program could have changed that
        return os.open(f"/proc/self/fd/{self._path}", mode | os.O_NONBLOCK | os.O_CLOEXEC)

    def _poll(self, mode: int, event: int) -> int:
        fd = self.open(mode)
        try:
            poll = select.poll()
            poll.register(fd, event)
            return next((events for _, events in poll.poll(0)), 0)
        finally:
            os.close(fd)

    def _allow_all(self) -> None:
        """Lets programs open /dev/stdin and /dev/stdout by name, under their own uid."""
        Path(f"/proc/self/fd/{self._path}").chmod(0o666)


class PipeMonitor:
    """Tells whether a pipe is used, even if it is full, or empty, at every sample."""

    def __init__(self, pipe: Pipe, closing: ExitStack) -> None:
        # Open for both, it is always ready for one, so epoll drops no edge that a write makes.
        self._fd = pipe.open(os.O_RDWR)
        closing.callback(os.close, self._fd)
        self._edges = closing.enter_context(select.epoll())
        self._edges.register(self._fd, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)
        self._edges.poll(0)
        self.unread_bytes = self._count_unread()
        self._writes = self._reads = 0

    def sample(self) -> None:
        written = bool(self._edges.poll(0))
        unread_bytes = self._count_unread()
        written_and_read = written and unread_bytes == self.unread_bytes
        self._writes += written
        self._reads += unread_bytes < self.unread_bytes or written_and_read
        self.unread_bytes = unread_bytes

    @property
    def is_written(self) -> bool:
        return self._writes > 0

    @property
    def is_read(self) -> bool:
        """Whether it was read at least twice: once may be a write between poll and count."""
        return self._reads > 1

    def _count_unread(self) -> int:
        count = array("i", [0])
        fcntl.ioctl(self._fd, termios.FIONREAD, count)
        return count[0]


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


@dataclass(frozen=True, slots=True)
class PairMember:
    """One of the two runs, and how to end it early."""

    task: asyncio.Task[Report]
    cancel: Callable[[], None]

    def end(self) -> None:
        if not self.task.done():
            self.cancel()


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
        self._flooded = False
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
        self, program: PairMember, companion: PairMember, wall_s: float, cancel_rule: CancelRule
    ) -> Side | None:
        """Waits until both have ended or are being ended; returns the blame if time ran out."""
        if self._drain is not None:
            program.task.add_done_callback(self._drain.start)
        program.task.add_done_callback(lambda _: self._hold.close())
        await self._started.wait()
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + wall_s
        both = {program.task, companion.task}
        ended, _ = await asyncio.wait(both, timeout=wall_s, return_when=asyncio.FIRST_COMPLETED)
        if ended == {companion.task} and cancel_rule(companion.task.result()):
            program.end()
            return None
        await asyncio.wait(both, timeout=max(0.0, deadline_s - loop.time()))
        if all(task.done() for task in both):
            return None
        blame = await self._find_blame(program, companion)
        program.end()
        companion.end()
        return blame

    async def _find_blame(self, program: PairMember, companion: PairMember) -> Side:
        """Samples both pipes to tell which side kept the pair from going on.

        It is the companion if at every sample it had something to read and space to write, but
        read nothing; or if only the companion wrote and the program read it.
        """
        companion_idle, ended = True, self.to_companion.has_ended()
        with ExitStack() as closing:
            questions = PipeMonitor(self.to_companion, closing)
            answers = PipeMonitor(self.to_program, closing)
            for _ in range(SAMPLES):
                if program.task.done():
                    return "companion"
                if companion.task.done():
                    return "program"
                questions.sample()
                answers.sample()
                has_input = ended or questions.unread_bytes > 0
                companion_idle = companion_idle and has_input and not self.to_program.is_full()
                await asyncio.sleep(SAMPLE_INTERVAL_S)
        if companion_idle:
            self._flooded = questions.is_read
            return "program" if self._flooded else "companion"
        return "companion" if answers.is_read and not questions.is_written else "program"

    def conclude(self, program: Report, companion: Report, blame: Side | None) -> Pair:
        first: Side = "program" if program.ended_ns <= companion.ended_ns else "companion"
        # Both may have ended by themselves while the blame was being found.
        hung = blame is not None and RunStatus.CANCELLED in {program.status, companion.status}
        return Pair(
            program, companion, first, hung, blame if hung else None, hung and self._flooded
        )
