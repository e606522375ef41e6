"""The streams of a run: moves bytes between a box and Python, one chunk at a time."""

import asyncio
import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Self, Union

from deemster.domain.errors import Refused, Unavailable
from deemster.sandbox.live_streams import CHUNK_BYTES, LiveInput, LiveOutput

Sink = Callable[[bytes], None]
Source = Union[bytes, int, "SealedInput"]
"""What a program reads: bytes, a descriptor that Python copies from, or a sealed input."""

SEALS: Final = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
SMALL_BYTES: Final = 256 * 1024
"""Up to this size, copying is faster than starting a thread."""
MAX_COPY_BYTES: Final = 1 << 30
OPEN_TRIES: Final = 1_000


class DirectStream:
    """A stream of the program that Python does not serve: its descriptor is sent and closed."""

    truncated = False

    def __init__(self, fd: int) -> None:
        self.child_fd = fd

    def start(self, _: asyncio.AbstractEventLoop) -> None:
        self.close()

    def finish(self) -> bytes:
        return b""

    def close(self) -> None:
        fd, self.child_fd = self.child_fd, -1
        if fd >= 0:
            os.close(fd)


class OutputPipe:
    """Reads one output stream of a program, up to a limit, and reports an overflow."""

    def __init__(
        self, limit_bytes: int, sink: Sink | None, on_overflow: Callable[[], None]
    ) -> None:
        self.reader, self.child_fd = os.pipe2(os.O_CLOEXEC)
        os.fchmod(self.child_fd, 0o666)  # lets the program open /dev/stdout by name
        os.set_blocking(self.reader, False)
        self.truncated = False
        self._left_bytes = limit_bytes
        self._captured = bytearray()
        self._sink = sink or self._captured.extend
        self._on_overflow = on_overflow
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self, _: asyncio.AbstractEventLoop) -> None:
        """Leaves the writing end to the program."""
        os.close(self.child_fd)
        self.child_fd = -1

    def follow(self, loop: asyncio.AbstractEventLoop) -> None:
        """Reads from now on what the program writes, which the pipe has kept until now."""
        self._loop = loop
        loop.add_reader(self.reader, self._read_some)

    def _read_some(self) -> bool:
        """Reads one chunk; returns false when the pipe is empty."""
        try:
            chunk = os.read(self.reader, CHUNK_BYTES)
        except BlockingIOError:
            return False
        if not chunk:
            self._stop_reading()
            return False
        self._accept(chunk)
        return len(chunk) == CHUNK_BYTES

    def _accept(self, chunk: bytes) -> None:
        if self._left_bytes:
            self._sink(chunk[: self._left_bytes])
        if len(chunk) > self._left_bytes and not self.truncated:
            self.truncated = True
            self._on_overflow()
        self._left_bytes -= min(self._left_bytes, len(chunk))

    def _stop_reading(self) -> None:
        if self._loop is not None:
            self._loop.remove_reader(self.reader)
            self._loop = None

    def finish(self) -> bytes:
        """Reads what is left in the pipe after all writers are dead, and closes it."""
        while not self.truncated and self._read_some():
            pass
        self.close()
        return bytes(self._captured)

    def close(self) -> None:
        self._stop_reading()
        for fd in (self.reader, self.child_fd):
            if fd >= 0:
                os.close(fd)
        self.reader = self.child_fd = -1


def open_output(
    sink: Sink | DirectStream | LiveOutput | None,
    limit_bytes: int,
    on_overflow: Callable[[], None],
) -> DirectStream | LiveOutput | OutputPipe:
    if isinstance(sink, DirectStream | LiveOutput):
        return sink
    return OutputPipe(limit_bytes, sink, on_overflow)


def open_input(
    source: "Source | DirectStream | LiveInput",
) -> "DirectStream | LiveInput | InputPump":
    if isinstance(source, bytes):
        if source:
            return DirectStream(sealed_input(source))
        return DirectStream(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    if isinstance(source, SealedInput):
        return DirectStream(source.open())
    return InputPump(source) if isinstance(source, int) else source


def sealed_input(data: bytes) -> int:
    """Returns a descriptor to read `data` from, which no program can change."""
    fd = _new_file()
    written = os.pwrite(fd, data, 0)
    while written < len(data):
        written += os.pwrite(fd, memoryview(data)[written:], written)
    _seal(fd)
    return fd


class SealedInput:
    """A copy of a file in memory that any number of runs read and none can change."""

    def __init__(self) -> None:
        self._fd = _new_file()
        self.size_bytes = 0

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """Copies a file inside the kernel; blocks, so `load` uses a thread for big files."""
        sealed = cls()
        with path.open("rb", buffering=0) as file:
            while copied := os.sendfile(
                sealed._fd, file.fileno(), sealed.size_bytes, MAX_COPY_BYTES
            ):
                sealed.size_bytes += copied
        _seal(sealed._fd)
        return sealed

    @classmethod
    async def load(cls, path: Path) -> Self:
        if _is_small(path):
            return cls.from_file(path)
        return await asyncio.to_thread(cls.from_file, path)

    def open(self) -> int:
        """Returns a read-only descriptor with its own offset."""
        if self._fd < 0:
            raise Refused("The sealed input is closed and can't be used for another run.")
        for _ in range(OPEN_TRIES):
            # Without root a program has our uid: it can't write, but it can change the mode.
            os.fchmod(self._fd, 0o444)
            try:
                return os.open(f"/proc/self/fd/{self._fd}", os.O_RDONLY | os.O_CLOEXEC)
            except PermissionError:
                continue
        raise Unavailable(
            "The sealed input can't be opened: a program keeps changing its mode; try again."
        )

    def close(self) -> None:
        """Frees the copy once the runs that read it have ended."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    __del__ = close  # for a caller that was cancelled

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _is_small(path: Path) -> bool:
    return path.stat().st_size <= SMALL_BYTES


def _new_file() -> int:
    return os.memfd_create("stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)


def _seal(fd: int) -> None:
    os.fchmod(fd, 0o444)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, SEALS)


class InputPump:
    """Copies from a descriptor, which stays outside the box, to a program's stdin."""

    def __init__(self, source: int) -> None:
        self.child_fd, self._writer = os.pipe2(os.O_CLOEXEC)
        os.fchmod(self.child_fd, 0o444)
        os.set_blocking(self._writer, False)
        self._source = source
        self._always_ready = False
        self._unwritten = b""
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        os.close(self.child_fd)
        self.child_fd = -1
        self._loop = loop
        self._await_source()

    def _await_source(self) -> None:
        assert self._loop is not None
        if not self._always_ready:
            try:
                self._loop.add_reader(self._source, self._copy)
            except PermissionError:  # epoll can't watch plain files and /dev/zero
                self._always_ready = True
        if self._always_ready:
            self._loop.add_writer(self._writer, self._copy)

    def _copy(self) -> None:
        assert self._loop is not None
        try:
            if not self._unwritten:
                self._unwritten = os.read(self._source, CHUNK_BYTES)
                if not self._unwritten:
                    self.close()
                    return
            self._unwritten = self._unwritten[os.write(self._writer, self._unwritten) :]
        except BlockingIOError:
            pass
        except OSError:  # the program closed its stdin, or the source failed
            self.close()
            return
        self._loop.remove_reader(self._source)
        self._loop.remove_writer(self._writer)
        if self._unwritten:
            self._loop.add_writer(self._writer, self._copy)
        else:
            self._await_source()

    def close(self) -> None:
        if self._loop is not None:
            self._loop.remove_reader(self._source)
            self._loop.remove_writer(self._writer)
            self._loop = None
        for fd in (self.child_fd, self._writer):
            if fd >= 0:
                os.close(fd)
        self.child_fd = self._writer = -1


Stream = DirectStream | LiveInput | LiveOutput | InputPump | OutputPipe
"""An open stream of a run."""
