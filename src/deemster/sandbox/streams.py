"""Carries bytes between a box and the loop: never more than a chunk in memory at a time."""

import asyncio
import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Self, Union

from deemster.domain.errors import Refused, Unavailable

CHUNK_BYTES = 64 * 1024

Sink = Callable[[bytes], None]
Source = Union[bytes, int, "SealedInput"]
"""What a program reads: bytes, a descriptor of ours to pump from, or a sealed file."""

SEALS: Final = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
SMALL_BYTES: Final = 256 * 1024
"""Copied in less time than a thread takes."""
MOST_BYTES_AT_ONCE: Final = 1 << 30
OPEN_TRIES: Final = 1_000


class Direct:
    """A stream that is the program's alone; our descriptor of it is closed once it was sent."""

    truncated = False

    def __init__(self, fd: int) -> None:
        self.given = fd

    def start(self, _: asyncio.AbstractEventLoop) -> None:
        self.close()

    def finish(self) -> bytes:
        return b""

    def close(self) -> None:
        fd, self.given = self.given, -1
        if fd >= 0:
            os.close(fd)


class OutputPipe:
    """Reads one output stream of a program up to a cap, and says when it went over."""

    def __init__(self, cap_bytes: int, sink: Sink | None, on_flood: Callable[[], None]) -> None:
        self.reader, self.given = os.pipe2(os.O_CLOEXEC)
        os.fchmod(self.given, 0o666)  # so that the program can open /dev/stdout by its name
        os.set_blocking(self.reader, False)
        self.truncated = False
        self._left = cap_bytes
        self._kept = bytearray()
        self._sink = sink or self._kept.extend
        self._on_flood = on_flood
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begins to read; the writing end is the program's alone from here on."""
        os.close(self.given)
        self.given = -1
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
        for fd in (self.reader, self.given):
            if fd >= 0:
                os.close(fd)
        self.reader = self.given = -1


def open_output(
    sink: Sink | Direct | None, cap_bytes: int, on_flood: Callable[[], None]
) -> Direct | OutputPipe:
    return sink if isinstance(sink, Direct) else OutputPipe(cap_bytes, sink, on_flood)


def open_input(source: "Source | Direct") -> "Direct | InputPump":
    if isinstance(source, Direct):
        return source
    if isinstance(source, int):
        return InputPump(source)
    if isinstance(source, SealedInput):
        return Direct(source.open())
    if source:
        return Direct(sealed_input(source))
    return Direct(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))


def sealed_input(data: bytes) -> int:
    """A descriptor to read `data` from; nobody can write to it, however they open it again."""
    fd = _new_file()
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    _seal(fd)
    return fd


class SealedInput:
    """A file's bytes as they were, in memory, for any number of runs at once.

    Each run reads them from the beginning, and none can change them.
    """

    def __init__(self) -> None:
        self._fd = _new_file()
        self.size_bytes = 0

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """Copies a file, within the kernel. It blocks: `load` uses a thread for big ones."""
        sealed = cls()
        with path.open("rb", buffering=0) as file:
            while moved := os.sendfile(
                sealed._fd, file.fileno(), sealed.size_bytes, MOST_BYTES_AT_ONCE
            ):
                sealed.size_bytes += moved
        _seal(sealed._fd)
        return sealed

    @classmethod
    async def load(cls, path: Path) -> Self:
        if _is_small(path):
            return cls.from_file(path)
        return await asyncio.to_thread(cls.from_file, path)

    def open(self) -> int:
        """A descriptor with an offset of its own, to be read only."""
        if self._fd < 0:
            raise Refused("A sealed input was used after it was closed.")
        for _ in range(OPEN_TRIES):
            # Without root a program has our own id: it can't write, but it can change the mode.
            os.fchmod(self._fd, 0o444)
            try:
                return os.open(f"/proc/self/fd/{self._fd}", os.O_RDONLY | os.O_CLOEXEC)
            except PermissionError:
                continue
        raise Unavailable("A sealed input can't be opened: a program keeps locking it; retry.")

    def close(self) -> None:
        """Runs that have begun read on."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    __del__ = close  # whoever was to have it may have been cancelled

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
    os.lseek(fd, 0, os.SEEK_SET)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, SEALS)


class InputPump:
    """Feeds a program's stdin from a descriptor of ours, which itself never enters the box."""

    def __init__(self, source: int) -> None:
        self.given, self._writer = os.pipe2(os.O_CLOEXEC)
        os.fchmod(self.given, 0o444)
        os.set_blocking(self._writer, False)
        self._source = source
        self._always_ready = False
        self._waiting = b""
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        os.close(self.given)
        self.given = -1
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
        for fd in (self.given, self._writer):
            if fd >= 0:
                os.close(fd)
        self.given = self._writer = -1
