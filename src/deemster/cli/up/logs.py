"""Writes the output of child processes to rotated files, and shows their warnings."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

MAX_FILE_BYTES: Final = 8 << 20
CHUNK_BYTES: Final = 1 << 16
MAX_LINE_BYTES: Final = 16 << 10
"""Longer lines are cut before they are shown."""
SHOWN: Final = frozenset({"warning", "error", "critical"})
LEVEL_MARKS: Final = tuple(f'"{level}"'.encode() for level in sorted(SHOWN))
HIDDEN: Final = frozenset({"event", "level", "role", "time", "exception", "logger"})
MAX_SHOWN: Final = 20
"""Lines of one role that are shown in `WINDOW_S`."""
WINDOW_S: Final = 10.0
DRAIN_S: Final = 1.0


class Log:
    """One role's log file; rotation keeps one older file."""

    def __init__(self, path: Path, show: Callable[[str], None]) -> None:
        self.path = path
        self.last = ""
        """The last line that was shown."""
        self._print = show
        self._rest = b""
        self._size = 0
        self._file: int | None = None
        self._shown = 0
        self._window_ends = 0.0

    @classmethod
    @asynccontextmanager
    async def open(
        cls, path: Path, show: Callable[[str], None]
    ) -> AsyncIterator[tuple["Log", int]]:
        """The log, and the descriptor that the children write to, one after the other.

        The pipe outlives the children, so nobody waits for descendants that keep it open.
        """
        reading, writing = os.pipe()
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        file = os.fdopen(reading, "rb", buffering=0)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: protocol, file
        )
        log = cls(path, show)
        log.rotate()
        try:
            async with asyncio.TaskGroup() as group:
                pumping = group.create_task(log.pump(reader))
                try:
                    yield log, writing
                finally:
                    os.close(writing)
                    await asyncio.wait([pumping], timeout=DRAIN_S)
                    pumping.cancel()
        finally:
            transport.close()
            log.close()

    async def pump(self, reader: asyncio.StreamReader) -> None:
        while chunk := await reader.read(CHUNK_BYTES):
            self.take(chunk, asyncio.get_running_loop().time())

    def take(self, chunk: bytes, now_s: float) -> None:
        self._write(chunk)
        *lines, rest = (self._rest + chunk).split(b"\n")
        self._rest = rest[:MAX_LINE_BYTES]
        for line in lines:
            text = to_show(line[:MAX_LINE_BYTES])
            if text is not None:
                self.last = text
                self._show_line(text, now_s)

    def rotate(self) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.close()
        if self.path.exists():
            self.path.replace(self.path.with_name(f"{self.path.name}.1"))
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        self._file, self._size = os.open(self.path, flags, 0o600), 0

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _show_line(self, text: str, now_s: float) -> None:
        if now_s >= self._window_ends:
            self._shown, self._window_ends = 0, now_s + WINDOW_S
        self._shown += 1
        if self._shown <= MAX_SHOWN:
            self._print(f"{self.path.stem}: {text}")
        elif self._shown == MAX_SHOWN + 1:
            self._print(f"{self.path.stem}: … see {self.path} for more")

    def _write(self, chunk: bytes) -> None:
        # A full disk loses log lines; the service goes on.
        with suppress(OSError):
            if self._size > MAX_FILE_BYTES:
                self.rotate()
            if self._file is not None:
                self._size += os.write(self._file, chunk)


def to_show(line: bytes) -> str | None:
    """The text of a warning or of a line that is not JSON, such as a traceback."""
    if line.startswith(b"{") and not any(mark in line for mark in LEVEL_MARKS):
        return None
    text = line.decode(errors="replace").rstrip()
    if not text.startswith("{"):
        return text or None
    try:
        entry = json.loads(text)
    except ValueError:
        return text
    if entry.get("level") not in SHOWN:
        return None
    # The last line of a traceback names the error.
    event = str(entry.get("event", "")).strip().rpartition("\n")[2]
    return " ".join([event or "?", *details(entry)])


def details(entry: dict[str, object]) -> Iterator[str]:
    for name, value in entry.items():
        if name not in HIDDEN and value is not None:
            yield f"{name}={value}"
