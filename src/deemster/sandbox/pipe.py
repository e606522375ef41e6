"""A kernel pipe between two programs, and what an observer can tell about it."""

import fcntl
import os
import select
import termios
from array import array
from contextlib import ExitStack
from pathlib import Path

from deemster.sandbox.streams import DirectStream


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
