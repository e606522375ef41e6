"""Two runs that talk to each other through pipes of the kernel's, watched from outside."""

import asyncio
import fcntl
import os
import select
import termios
from array import array
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from deemster.domain.run_status import RunStatus
from deemster.sandbox.report import Report
from deemster.sandbox.streams import CHUNK_BYTES, Direct

Side = Literal["program", "companion"]
CancelRule = Callable[[Report], bool]
"""Whether the companion's report, which came first, is the end of the program too."""

LOOKS: Final = 100
BETWEEN_LOOKS_S: Final = 0.002
"""Two who talk always have something under way: one look at that says little, and on a busy
machine neither may have its turn for a while."""


@dataclass(frozen=True, slots=True)
class Pair:
    """What came of both; their standard outputs went to each other."""

    program: Report
    companion: Report
    ended_first: Side
    """By the moment from which the other could know of it: no consequence comes first."""
    hung: bool = False
    """The pair's own clock ended what was left of it."""
    blame: Side | None = None
    """Who kept a hung pair from going on."""
    flooded: bool = False
    """The program was still writing, faster than the companion read."""


class Pipe:
    """A pipe from one program to the other, which can be looked at without being in its way."""

    def __init__(self, closing: ExitStack) -> None:
        reader, writer = os.pipe2(os.O_CLOEXEC)
        self.reader, self.writer = Direct(reader), Direct(writer)
        closing.callback(self.reader.close)
        closing.callback(self.writer.close)
        # Counts as neither reader nor writer.
        self._place = os.open(f"/proc/self/fd/{reader}", os.O_PATH | os.O_CLOEXEC)
        closing.callback(os.close, self._place)
        self._open_to_all()

    def has_ended(self) -> bool:
        """Nobody can write to it any more."""
        return bool(self._look(os.O_RDONLY, select.POLLIN) & select.POLLHUP)

    def is_full(self) -> bool:
        return not self._look(os.O_WRONLY, select.POLLOUT)

    def open(self, way: int) -> int:
        """An end of our own."""
        self._open_to_all()  # without root a program could have changed that
        return os.open(f"/proc/self/fd/{self._place}", way | os.O_NONBLOCK | os.O_CLOEXEC)

    def _look(self, way: int, event: int) -> int:
        fd = self.open(way)
        try:
            poll = select.poll()
            poll.register(fd, event)
            return next((seen for _, seen in poll.poll(0)), 0)
        finally:
            os.close(fd)

    def _open_to_all(self) -> None:
        """Programs open /dev/stdin and /dev/stdout by name, under ids that are not ours."""
        Path(f"/proc/self/fd/{self._place}").chmod(0o666)


class Gauge:
    """Tells whether a pipe is in use, though it may be full, or empty, at every look."""

    def __init__(self, pipe: Pipe, closing: ExitStack) -> None:
        # Open both ways, it is always ready for one: so no edge that a write makes is dropped.
        self._fd = pipe.open(os.O_RDWR)
        closing.callback(os.close, self._fd)
        self._edges = closing.enter_context(select.epoll())
        self._edges.register(self._fd, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)
        self._edges.poll(0)
        self.unread_bytes = self._count()
        self._writes = self._reads = 0

    def look(self) -> None:
        written = bool(self._edges.poll(0))
        unread_bytes = self._count()
        no_fuller = written and unread_bytes == self.unread_bytes
        self._writes += written
        self._reads += unread_bytes < self.unread_bytes or no_fuller
        self.unread_bytes = unread_bytes

    @property
    def is_written(self) -> bool:
        return self._writes > 0

    @property
    def is_read(self) -> bool:
        """It got emptier, or no fuller for what was written.

        Seen once that may be a write between two lines of ours.
        """
        return self._reads > 1

    def _count(self) -> int:
        count = array("i", [0])
        fcntl.ioctl(self._fd, termios.FIONREAD, count)
        return count[0]


class Drain:
    """Keeps a pipe readable for who writes to it, and in the end reads it to no purpose."""

    def __init__(self, pipe: Pipe, closing: ExitStack) -> None:
        self._fd = pipe.open(os.O_RDONLY)
        closing.callback(self._close)

    def start(self, _: object = None) -> None:
        """From now on nobody else reads."""
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


class Partner:
    """One of the two: its run, and how to end that early."""

    def __init__(
        self,
        run: Coroutine[Any, Any, Report],
        cancel: Callable[[], None],
        group: asyncio.TaskGroup,
    ) -> None:
        self.running = group.create_task(run)
        self._cancel = cancel

    def end(self) -> None:
        if not self.running.done():
            self._cancel()


class Conversation:
    """The pipes of a pair, its common start and its clock."""

    def __init__(self, closing: ExitStack, *, drain_unread: bool) -> None:
        self.to_program = Pipe(closing)
        self.to_companion = Pipe(closing)
        self._drain = Drain(self.to_program, closing) if drain_unread else None
        self.flooded = False
        self._ready = asyncio.Barrier(2)
        self._begun = asyncio.Event()

    async def gate(self) -> None:
        """Lets both start in the same moment."""
        await self._ready.wait()
        self._begun.set()

    async def hold(
        self, program: Partner, companion: Partner, wall_s: float, cancel_program_if: CancelRule
    ) -> Side | None:
        """Follows both until their ends are certain; says whom to blame if time ran out."""
        if self._drain is not None:
            program.running.add_done_callback(self._drain.start)
        await self._begun.wait()
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + wall_s
        both = {program.running, companion.running}
        ended, _ = await asyncio.wait(both, timeout=wall_s, return_when=asyncio.FIRST_COMPLETED)
        if ended == {companion.running} and cancel_program_if(companion.running.result()):
            program.end()
            return None
        await asyncio.wait(both, timeout=max(0.0, deadline_s - loop.time()))
        if all(running.done() for running in both):
            return None
        blame = await self._whom_to_blame(program, companion)
        program.end()
        companion.end()
        return blame

    async def _whom_to_blame(self, program: Partner, companion: Partner) -> Side:
        """The companion, if all the while it had something to read and room to answer.

        But who alone talks, and is heard, is to blame for not coming to an end.
        """
        idle, ended = True, self.to_companion.has_ended()
        with ExitStack() as closing:
            said, answered = Gauge(self.to_companion, closing), Gauge(self.to_program, closing)
            for _ in range(LOOKS):
                if program.running.done():
                    return "companion"
                if companion.running.done():
                    return "program"
                said.look()
                answered.look()
                has_news = ended or said.unread_bytes > 0
                idle = idle and has_news and not self.to_program.is_full()
                await asyncio.sleep(BETWEEN_LOOKS_S)
        if idle:
            self.flooded = said.is_read
            return "program" if self.flooded else "companion"
        return "companion" if answered.is_read and not said.is_written else "program"


def conclude(program: Report, companion: Report, blame: Side | None, *, flooded: bool) -> Pair:
    first: Side = "program" if program.ended_ns <= companion.ended_ns else "companion"
    # Both may have come to their ends while the clock ran out.
    hung = blame is not None and RunStatus.CANCELLED in {program.status, companion.status}
    return Pair(program, companion, first, hung, blame if hung else None, hung and flooded)
