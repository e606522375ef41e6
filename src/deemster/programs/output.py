"""Keeps the output of a program: the beginning, the end, or all of it for a checker to read."""

import os
import stat
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Self

from deemster.domain.errors import Refused, Unavailable
from deemster.domain.limits import MIB
from deemster.programs.scratch import OPEN_FLAGS
from deemster.sandbox.live_streams import CHUNK_BYTES
from deemster.sandbox.streams import SealedInput, Sink

HEAD_BYTES = 4_096
TAIL_BYTES = 16_384
MEMORY_BYTES = 256 * 1024


class Head:
    """A sink that keeps the beginning of the output and passes all of it on."""

    def __init__(self, sink: Sink | None = None) -> None:
        self._sink = sink
        self._kept = bytearray()
        self._cut = False

    def __call__(self, data: bytes) -> None:
        room = HEAD_BYTES - len(self._kept)
        self._kept += data[:room]
        self._cut = self._cut or len(data) > room
        if self._sink is not None:
            self._sink(data)

    @property
    def text(self) -> str:
        return shown(bytes(self._kept), cut=self._cut)


class Tail:
    """A sink that keeps the end of the output and passes all of it on."""

    def __init__(self, sink: Sink | None = None) -> None:
        self._sink = sink
        self.kept = b""

    def __call__(self, data: bytes) -> None:
        self.kept = (self.kept + data)[-TAIL_BYTES:]
        if self._sink is not None:
            self._sink(data)

    @property
    def text(self) -> str:
        """The last part, where a traceback has its message."""
        cut = "…" if len(self.kept) > HEAD_BYTES else ""
        return cut + self.kept[-HEAD_BYTES:].decode(errors="replace")


class Spool:
    """A sink that keeps the whole output, in an unnamed file if it is large.

    Calling it never raises, because the event loop calls it and would lose the exception. If
    the disk is full, reading the output raises Unavailable.
    """

    def __init__(self, directory: Path, memory_bytes: int = MEMORY_BYTES) -> None:
        self.size_bytes = 0
        self._directory = directory
        self._memory_bytes = memory_bytes
        self._small = bytearray()
        self._file: BinaryIO | None = None
        self._fault: OSError | None = None

    def __call__(self, data: bytes) -> None:
        if self._fault is not None:
            return
        try:
            self._keep(data)
            self.size_bytes += len(data)
        except OSError as fault:
            self._fault = fault
            self._small.clear()

    def add_file(self, path: Path) -> None:
        with path.open("rb", buffering=0) as file:
            while chunk := file.read(CHUNK_BYTES):
                self(chunk)

    @asynccontextmanager
    async def as_input(self) -> AsyncIterator[bytes | SealedInput]:
        """The output as stdin for `Boxes.run`, for any number of runs; no run can change it."""
        self._check()
        if self._file is None:
            yield bytes(self._small)
            return
        # Opening this name starts at the beginning of the file.
        path = Path(f"/proc/self/fd/{self._file.fileno()}")
        try:
            sealed = await SealedInput.load(path)
        except OSError as fault:
            raise self._unavailable(fault) from fault
        with sealed:
            yield sealed

    def close(self) -> None:
        self._small.clear()
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _keep(self, data: bytes) -> None:
        if self._file is None and len(self._small) + len(data) <= self._memory_bytes:
            self._small += data
            return
        if self._file is None:
            # The file has no name: no one else can open it, and it is gone with this process.
            self._file = tempfile.TemporaryFile(dir=self._directory, buffering=0)  # noqa: SIM115
            self._write(self._small)
            self._small = bytearray()
        self._write(data)

    def _write(self, data: bytes | bytearray) -> None:
        assert self._file is not None
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) :]

    def _check(self) -> None:
        if self._fault is not None:
            raise self._unavailable(self._fault) from self._fault

    def _unavailable(self, fault: OSError) -> Unavailable:
        return Unavailable(
            f"An output of more than {self.size_bytes // MIB} MB could not be kept in "
            f"{self._directory} ({fault.strerror}): free some space there, then judge again."
        )


@dataclass(slots=True)
class FileOutput:
    """Passes the file that a program wrote to a sink; called with the scratch's descriptor.

    Only a regular file with one hard link is read, because the program may have put anything
    there. A `problem` is the program's fault.
    """

    name: str
    sink: Sink
    max_bytes: int
    problem: str = field(default="", init=False)
    is_too_big: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if "/" in self.name:  # the program could replace a directory by a link
            raise Refused(f"An output file can't be in a directory: {self.name}.")

    def __call__(self, scratch_fd: int) -> None:
        try:
            file = os.open(self.name, OPEN_FLAGS, dir_fd=scratch_fd)
        except FileNotFoundError:
            self.problem = f"The program wrote no file {self.name}."
            return
        except OSError as fault:
            self.problem = f"The output {self.name} is not a regular file ({fault.strerror})."
            return
        try:
            self._read(file)
        finally:
            os.close(file)

    def _read(self, file: int) -> None:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            self.problem = f"The output {self.name} is not a regular file with one hard link."
            return
        left = self.max_bytes
        self.is_too_big = found.st_size > left
        while left >= 0 and not self.is_too_big:
            chunk = os.read(file, CHUNK_BYTES)
            if not chunk:
                return
            left -= len(chunk)
            self.is_too_big = left < 0
            self.sink(chunk)
        self.problem = f"The file {self.name} has more than {self.max_bytes:,} bytes."


def head_of_file(path: Path) -> str:
    with path.open("rb") as opened:
        found = opened.read(HEAD_BYTES + 1)
    return shown(found[:HEAD_BYTES], cut=len(found) > HEAD_BYTES)


def shown(data: bytes, *, cut: bool) -> str:
    return data.decode(errors="replace") + ("…" if cut else "")
