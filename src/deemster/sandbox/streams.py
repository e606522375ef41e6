"""Carries bytes between a box and the loop: never more than a chunk in memory at a time."""

import asyncio
import fcntl
import os
from collections.abc import Callable

CHUNK_BYTES = 64 * 1024

Sink = Callable[[bytes], None]


class OutputPipe:
    """Reads one output stream of a program up to a cap, and says when it went over."""

    def __init__(self, cap_bytes: int, sink: Sink | None, on_flood: Callable[[], None]) -> None:
        self.reader, self.writer = os.pipe2(os.O_CLOEXEC)
        os.fchmod(self.writer, 0o666)  # so that the program can open /dev/stdout by its name
        os.set_blocking(self.reader, False)
        self.truncated = False
        self._left = cap_bytes
        self._kept = bytearray()
        self._sink = sink or self._kept.extend
        self._on_flood = on_flood
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begins to read; the writing end is the program's alone from here on."""
        os.close(self.writer)
        self.writer = -1
        self._loop = loop
        loop.add_reader(self.reader, self._read_some)

    def _read_some(self) -> bool:
        """Reads one chunk; false when there is nothing more now."""
        try:
            chunk = os.read(self.reader, CHUNK_BYTES)
        except BlockingIOError:
            return False
        if not chunk:
            self._stop_reading()
            return False
        self._take(chunk)
        return True

    def _take(self, chunk: bytes) -> None:
        if self._left:
            self._sink(chunk[: self._left])
        if len(chunk) > self._left and not self.truncated:
            self.truncated = True
            self._on_flood()
        self._left -= min(self._left, len(chunk))

    def _stop_reading(self) -> None:
        if self._loop is not None:
            self._loop.remove_reader(self.reader)
            self._loop = None

    def finish(self) -> bytes:
        """Takes what is still in the pipe once all writers are dead, and closes it."""
        while not self.truncated and self._read_some():
            pass
        self.close()
        return bytes(self._kept)

    def close(self) -> None:
        self._stop_reading()
        for fd in (self.reader, self.writer):
            if fd >= 0:
                os.close(fd)
        self.reader = self.writer = -1


def open_input(data: bytes) -> int:
    return sealed_input(data) if data else os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)


def sealed_input(data: bytes) -> int:
    """A descriptor to read `data` from; nobody can write to it, however they open it again."""
    fd = os.memfd_create("stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    return fd


class InputPump:
    """Feeds a program's stdin from a descriptor of ours, which itself never enters the box."""

    def __init__(self, source: int) -> None:
        self.reader, self._writer = os.pipe2(os.O_CLOEXEC)
        os.fchmod(self.reader, 0o444)
        os.set_blocking(self._writer, False)
        self._source = source
        self._always_ready = False
        self._waiting = b""
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        os.close(self.reader)
        self.reader = -1
        self._loop = loop
        self._await_source()

    def _await_source(self) -> None:
        assert self._loop is not None
        if not self._always_ready:
            try:
                self._loop.add_reader(self._source, self._move)
            except PermissionError:  # epoll has nothing to say about plain files and /dev/zero
                self._always_ready = True
        if self._always_ready:
            self._loop.add_writer(self._writer, self._move)

    def _move(self) -> None:
        assert self._loop is not None
        try:
            if not self._waiting:
                self._waiting = os.read(self._source, CHUNK_BYTES)
                if not self._waiting:
                    self.close()
                    return
            self._waiting = self._waiting[os.write(self._writer, self._waiting) :]
        except BlockingIOError:
            pass
        except OSError:  # the program closed its stdin, or the source broke: no more input
            self.close()
            return
        self._loop.remove_reader(self._source)
        self._loop.remove_writer(self._writer)
        if self._waiting:
            self._loop.add_writer(self._writer, self._move)
        else:
            self._await_source()

    def close(self) -> None:
        if self._loop is not None:
            self._loop.remove_reader(self._source)
            self._loop.remove_writer(self._writer)
            self._loop = None
        for fd in (self.reader, self._writer):
            if fd >= 0:
                os.close(fd)
        self.reader = self._writer = -1
