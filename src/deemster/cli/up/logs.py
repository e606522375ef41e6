"""The logs of the roles: kept in files that never grow large, warnings picked out of them."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

LARGEST_BYTES: Final = 8 << 20
CHUNK_BYTES: Final = 1 << 16
LONGEST_BYTES: Final = 16 << 10
"""Of a line that is looked at."""
SHOWN: Final = frozenset({"warning", "error", "critical"})
MARKS: Final = tuple(f'"{level}"'.encode() for level in sorted(SHOWN))
UNSAID: Final = frozenset({"event", "level", "role", "time", "exception", "logger"})
MOST_SHOWN: Final = 20
"""Lines of a role in a row; then it is silent for a while."""
SILENT_S: Final = 10.0
LAST_WORDS_S: Final = 1.0


class Log:
    """One role's file; the one before it is kept beside it."""

    def __init__(self, path: Path, show: Callable[[str], None]) -> None:
        self.path = path
        self.last = ""
        """The last line that was worth showing."""
        self._show = show
        self._rest = b""
        self._size = 0
        self._file: int | None = None
        self._shown = 0
        self._silent_until = 0.0

    @classmethod
    @asynccontextmanager
    async def open(
        cls, path: Path, show: Callable[[str], None]
    ) -> AsyncIterator[tuple["Log", int]]:
        """The log, and the descriptor that children write to, one after the other.

        A pipe of ours, which outlives them: what a dead one's own children still hold open
        keeps nobody waiting.
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
                    await asyncio.wait([pumping], timeout=LAST_WORDS_S)
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
        self._rest = rest[:LONGEST_BYTES]
        for line in lines:
            said = worth_showing(line[:LONGEST_BYTES])
            if said is not None:
                self.last = said
                self._tell(said, now_s)

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

    def _tell(self, said: str, now_s: float) -> None:
        if now_s >= self._silent_until:
            self._shown, self._silent_until = 0, now_s + SILENT_S
        self._shown += 1
        if self._shown <= MOST_SHOWN:
            self._show(f"{self.path.stem}: {said}")
        elif self._shown == MOST_SHOWN + 1:
            self._show(f"{self.path.stem}: … more of this in {self.path}")

    def _write(self, chunk: bytes) -> None:
        # A disk that is full costs lines, not the service.
        with suppress(OSError):
            if self._size > LARGEST_BYTES:
                self.rotate()
            if self._file is not None:
                self._size += os.write(self._file, chunk)


def worth_showing(line: bytes) -> str | None:
    """A warning in short, or a line that is no log of ours: a traceback, mostly."""
    if line.startswith(b"{") and not any(mark in line for mark in MARKS):
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
    # A traceback that a library logs ends with what it is about.
    event = str(entry.get("event", "")).strip().rpartition("\n")[2]
    return " ".join([event or "?", *details(entry)])


def details(entry: dict[str, object]) -> Iterator[str]:
    for name, value in entry.items():
        if name not in UNSAID and value is not None:
            yield f"{name}={value}"
