"""Takes a compiler's output out of its scratch, trusting nothing that lies there.

The scratch was written by untrusted code. Every name is opened beside its parent's descriptor,
never through a link; only plain files with a single name are taken, up to fixed bounds.
"""

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from deemster.domain.limits import MIB

MAX_FILES = 2_000
MAX_BYTES = 64 * MIB
MAX_DEPTH = 16
CHUNK_BYTES = MIB

OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
WRITE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class NotCollected(Exception):
    """The output can't be taken; the text says what was wrong with it."""


@dataclass(slots=True)
class OutputCollector:
    """Called with the scratch's descriptor; afterwards `problem` says why nothing was taken."""

    output: str
    target: Path
    max_files: int = MAX_FILES
    max_bytes: int = MAX_BYTES
    problem: str | None = None
    _files: int = field(default=0, init=False)
    _bytes: int = field(default=0, init=False)

    def __call__(self, scratch_fd: int) -> None:
        try:
            self._take_output(scratch_fd)
        except NotCollected as fault:
            self.problem = str(fault)

    def _take_output(self, scratch_fd: int) -> None:
        """A file lands in the target by its own name, a directory's content directly in it."""
        target_fd = os.open(self.target, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._take(scratch_fd, self.output, target_fd, depth=0)
        finally:
            os.close(target_fd)

    def _take(self, parent_fd: int, name: str, target_fd: int, depth: int) -> None:
        try:
            source_fd = os.open(name, OPEN_FLAGS, dir_fd=parent_fd)
        except FileNotFoundError:
            raise NotCollected(f"The compiler left no {name!r}.") from None
        except OSError as fault:
            raise NotCollected(
                f"The output {name!r} is no plain file ({fault.strerror})."
            ) from None
        try:
            found = os.fstat(source_fd)
            if stat.S_ISDIR(found.st_mode):
                self._take_directory(source_fd, name, target_fd, depth)
            elif stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
                self._take_file(source_fd, name, target_fd, found)
            else:
                raise NotCollected(f"The output {name!r} is no plain file with a single name.")
        finally:
            os.close(source_fd)

    def _take_directory(self, source_fd: int, name: str, target_fd: int, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise NotCollected(f"The output lies more than {MAX_DEPTH} directories deep.")
        if depth == 0:
            self._take_entries(source_fd, target_fd, depth)
            return
        self._count(files=1)
        os.mkdir(name, mode=0o755, dir_fd=target_fd)
        inner_fd = os.open(name, OPEN_FLAGS | os.O_DIRECTORY, dir_fd=target_fd)
        try:
            os.fchmod(inner_fd, 0o755)
            self._take_entries(source_fd, inner_fd, depth)
        finally:
            os.close(inner_fd)

    def _take_entries(self, source_fd: int, target_fd: int, depth: int) -> None:
        with os.scandir(source_fd) as entries:
            for entry in entries:
                self._take(source_fd, entry.name, target_fd, depth + 1)

    def _take_file(
        self, source_fd: int, name: str, target_fd: int, found: os.stat_result
    ) -> None:
        self._count(files=1, size=found.st_size)
        mode = 0o755 if found.st_mode & stat.S_IXUSR else 0o644
        copy_fd = os.open(name, WRITE_FLAGS, mode, dir_fd=target_fd)
        try:
            os.fchmod(copy_fd, mode)
            # Counted again while copying: the size seen above is only a promise.
            copied = 0
            while chunk := os.read(source_fd, CHUNK_BYTES):
                copied += len(chunk)
                if copied > found.st_size:
                    raise NotCollected(f"The output {name!r} grew while it was taken.")
                write_all(copy_fd, chunk)
        finally:
            os.close(copy_fd)

    def _count(self, files: int, size: int = 0) -> None:
        self._files += files
        self._bytes += size
        if self._files > self.max_files:
            raise NotCollected(f"The output has more than {self.max_files:,} files.")
        if self._bytes > self.max_bytes:
            raise NotCollected(f"The output has more than {self.max_bytes // MIB} MB.")


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
