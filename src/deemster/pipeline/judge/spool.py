"""Keeps a program's output until the jury has read it, on disk where it isn't small."""

import os
import stat
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from deemster.domain.errors import Refused, Unavailable
from deemster.domain.limits import MIB
from deemster.pipeline.judge.collect import OPEN_FLAGS
from deemster.sandbox.streams import CHUNK_BYTES, SealedInput, Sink

MEMORY_BYTES = 256 * 1024


class Spool:
    """A sink; afterwards it gives what it took, as often as needed.

    It never raises when it is called: the event loop calls it, and would lose that. A disk that
    is full shows when the output is asked for.
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

    def take_file(self, path: Path) -> None:
        """All of a file that is ours."""
        with path.open("rb", buffering=0) as file:
            while chunk := file.read(CHUNK_BYTES):
                self(chunk)

    def head(self, size_bytes: int) -> bytes:
        self._check()
        if self._file is None:
            return bytes(self._small[:size_bytes])
        return os.pread(self._file.fileno(), size_bytes, 0)

    @asynccontextmanager
    async def as_input(self) -> AsyncIterator[bytes | SealedInput]:
        """What `Boxes.run` takes as stdin, for any number of runs; none can change it."""
        self._check()
        if self._file is None:
            yield bytes(self._small)
            return
        # Opened by this name, the file is read from its beginning.
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _keep(self, data: bytes) -> None:
        if self._file is None and len(self._small) + len(data) <= self._memory_bytes:
            self._small += data
            return
        if self._file is None:
            # It has no name: nobody else can open it, and it is gone with this process.
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
            f"{self._directory} ({fault.strerror}): make room there, then judge again."
        )


@dataclass(slots=True)
class FileOutput:
    """Called with the scratch's descriptor; gives the file that a program wrote to a sink.

    The program owns the scratch: only a plain file with a single name is taken. A `problem` is
    the program's fault.
    """

    name: str
    sink: Sink
    max_bytes: int
    problem: str = field(default="", init=False)
    is_too_big: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if "/" in self.name:  # a directory on the way may be a link
            raise Refused(f"An output file can't be in a directory: {self.name}.")

    def __call__(self, scratch_fd: int) -> None:
        try:
            file = os.open(self.name, OPEN_FLAGS, dir_fd=scratch_fd)
        except FileNotFoundError:
            self.problem = f"The program wrote no file {self.name}."
            return
        except OSError as fault:
            self.problem = (
                f"What the program left as {self.name} is no file ({fault.strerror})."
            )
            return
        try:
            self._take(file)
        finally:
            os.close(file)

    def _take(self, file: int) -> None:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            self.problem = f"What the program left as {self.name} is no plain file."
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
