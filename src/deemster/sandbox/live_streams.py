"""The streams of a run that a caller reads and writes while the program runs."""

import asyncio
import errno
import os
from collections.abc import Callable, Sequence

CHUNK_BYTES = 64 * 1024


class LiveOutput:
    """An output of a program that is read only when somebody asks for it.

    A program that writes faster than its reader reads has to wait, so memory stays small. The
    program is ended when it has written more than the limit.
    """

    def __init__(
        self, reader: int, child_fd: int, limit_bytes: int, on_overflow: Callable[[], None]
    ) -> None:
        os.set_blocking(reader, False)
        self.reader = reader
        self.child_fd = child_fd
        self.truncated = False
        self.ended = False
        self._left_bytes = limit_bytes
        self._on_overflow = on_overflow
        self._rest = bytearray()
        """What was still in the kernel's buffer when the run ended."""
        self._waiting: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()

    def start(self, _: asyncio.AbstractEventLoop) -> None:
        """Leaves the writing end to the program."""
        if self.child_fd >= 0:
            os.close(self.child_fd)
        self.child_fd = -1

    def take(self) -> bytes:
        """Returns what can be read at once, up to a chunk."""
        if self._rest:
            chunk = bytes(self._rest[:CHUNK_BYTES])
            del self._rest[:CHUNK_BYTES]
            return chunk
        return b"" if self.ended else self._read_chunk()

    @property
    def is_exhausted(self) -> bool:
        return self.ended and not self._rest

    def _read_chunk(self) -> bytes:
        chunk = bytearray()
        try:
            # A terminal gives at most 4 KiB at a time.
            while len(chunk) < CHUNK_BYTES and not self.ended:
                data = self._read(CHUNK_BYTES - len(chunk))
                self.ended = not data
                chunk += data
        except BlockingIOError:
            pass
        if len(chunk) > self._left_bytes:
            del chunk[self._left_bytes :]
            self.truncated = self.ended = True
            self._on_overflow()
        self._left_bytes -= len(chunk)
        return bytes(chunk)

    def _read(self, max_bytes: int) -> bytes:
        """Returns b"" at the end."""
        for _ in range(2):
            try:
                return os.read(self.reader, max_bytes)
            except OSError as error:
                # The other side of the terminal is closed. The kernel moves output in the
                # background, and looks for output before it looks for the end: the last output
                # may have come in between, and a second read waits for it.
                if error.errno != errno.EIO:
                    raise
        return b""

    def notify(self, waiting: asyncio.Future[None]) -> None:
        """Resolves the future as soon as `take` has something to return, or at the end."""
        self._waiting = waiting
        if self.reader < 0 or self.ended or self._rest:
            self._wake()
        else:
            self._loop.add_reader(self.reader, self._wake)

    def forget(self) -> None:
        self._waiting = None
        if self.reader >= 0:
            self._loop.remove_reader(self.reader)

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def finish(self) -> bytes:
        """Keeps what is left in the kernel, after all writers are dead, and closes."""
        while not self.ended and (chunk := self._read_chunk()):
            self._rest += chunk
        self.close()
        return b""

    def close(self) -> None:
        self.ended = True
        waiting = self._waiting
        self.forget()
        for fd in (self.reader, self.child_fd):
            if fd >= 0:
                os.close(fd)
        self.reader = self.child_fd = -1
        self._waiting = waiting
        self._wake()


async def take_first(outputs: Sequence[LiveOutput]) -> tuple[int, bytes] | None:
    """Waits for the next chunk of any output; returns its index too, or None at the end.

    Other tasks get a turn before each chunk, however fast a program writes.
    """
    loop = asyncio.get_running_loop()
    while open_outputs := [each for each in outputs if not each.is_exhausted]:
        waiting: asyncio.Future[None] = loop.create_future()
        try:
            for output in open_outputs:
                output.notify(waiting)
            await waiting
        finally:
            for output in open_outputs:
                output.forget()
        await asyncio.sleep(0)
        for index, output in enumerate(outputs):
            if chunk := output.take():
                return index, chunk
    return None


class LiveInput:
    """The input of a program, written while it runs."""

    def __init__(self, writer: int, child_fd: int) -> None:
        os.set_blocking(writer, False)
        self.writer = writer
        self.child_fd = child_fd
        self._turn = asyncio.Lock()
        self._waiting: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()

    def start(self, _: asyncio.AbstractEventLoop) -> None:
        """Leaves the reading end to the program."""
        os.close(self.child_fd)
        self.child_fd = -1

    async def write(self, data: bytes) -> None:
        """Waits until the program has space for the data; drops it if nobody can read it."""
        async with self._turn:
            view = memoryview(data)
            while view and self.writer >= 0:
                try:
                    view = view[os.write(self.writer, view[:CHUNK_BYTES]) :]
                except BlockingIOError:
                    await self._until_writable()
                except OSError:  # the program closed it
                    return

    async def _until_writable(self) -> None:
        self._waiting = self._loop.create_future()
        self._loop.add_writer(self.writer, self._wake)
        try:
            await self._waiting
        finally:
            self._waiting = None
            if self.writer >= 0:
                self._loop.remove_writer(self.writer)

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def end(self) -> None:
        """Closes the input after everything that was written before."""
        async with self._turn:
            self._close_writer()  # the program may not have got the reading end yet

    def close(self) -> None:
        self._close_writer()
        if self.child_fd >= 0:
            os.close(self.child_fd)
            self.child_fd = -1

    def _close_writer(self) -> None:
        if self.writer >= 0:
            self._loop.remove_writer(self.writer)
            os.close(self.writer)
            self.writer = -1
        self._wake()
