"""Copies what one program writes to the other, and shows it to a recorder on the way."""

import asyncio
import os
from collections.abc import Callable
from contextlib import ExitStack

from deemster.sandbox.live_streams import CHUNK_BYTES
from deemster.sandbox.streams import DirectStream

Record = Callable[[bytes], None]


class PipeCopy:
    """Reads from one pipe and writes to another until either end is closed."""

    def __init__(
        self, reader: DirectStream, writer: DirectStream, record: Record, closing: ExitStack
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._reader, self._writer, self._record = reader, writer, record
        self._waiting = b""
        for stream in (reader, writer):
            os.set_blocking(stream.child_fd, False)
        closing.callback(self._close)
        self._loop.add_reader(reader.child_fd, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._reader.child_fd, CHUNK_BYTES)
        except BlockingIOError:
            return
        if not data:
            self._close()
            return
        self._record(data)
        self._waiting = data
        self._loop.remove_reader(self._reader.child_fd)
        self._loop.add_writer(self._writer.child_fd, self._write)

    def _write(self) -> None:
        try:
            written = os.write(self._writer.child_fd, self._waiting)
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._close()
            return
        self._waiting = self._waiting[written:]
        if not self._waiting:
            self._loop.remove_writer(self._writer.child_fd)
            self._loop.add_reader(self._reader.child_fd, self._read)

    def _close(self) -> None:
        """The writer gets a broken pipe then, and the reader the end of its input."""
        if self._reader.child_fd >= 0:
            self._loop.remove_reader(self._reader.child_fd)
            self._loop.remove_writer(self._writer.child_fd)
            self._reader.close()
            self._writer.close()
