"""Copies files into and out of a sandbox's scratch directory without trusting its content."""

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from deemster.domain.errors import Refused
from deemster.domain.limits import MIB
from deemster.domain.source import check_name
from deemster.sandbox.staging import Scratch

MAX_FILES = 2_000
MAX_BYTES = 64 * MIB
MAX_DEPTH = 16
MAX_PATH_BYTES = 1_024
"""Well below the 4,096 bytes that paths of the system may have with the target's own path."""
CHUNK_BYTES = MIB

OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
WRITE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class NotCollected(Exception):
    """The output can't be copied; the message says why."""


class OutputTooLarge(NotCollected):
    """The output has too many files or bytes."""


@dataclass(slots=True)
class OutputCollector:
    """Copies one file or directory out of the scratch directory when it is called.

    Untrusted code may have written anything there. So every name is opened relative to its
    parent's descriptor, links are not followed, and only regular files with one hard link are
    copied, within fixed limits. Afterwards `problem` says why nothing was copied.
    """

    output: str
    target: Path
    max_files: int = MAX_FILES
    max_bytes: int = MAX_BYTES
    problem: str | None = None
    is_too_large: bool = False
    _files: int = field(default=0, init=False)
    _bytes: int = field(default=0, init=False)

    def __call__(self, scratch_fd: int) -> None:
        try:
            self._copy_output(scratch_fd)
        except NotCollected as fault:
            self.problem = str(fault)
            self.is_too_large = isinstance(fault, OutputTooLarge)

    def _copy_output(self, scratch_fd: int) -> None:
        """A file keeps its name; of a directory only the content is copied."""
        target_fd = os.open(self.target, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._copy(scratch_fd, self.output, target_fd, depth=0, path_bytes=0)
        finally:
            os.close(target_fd)

    def _copy(
        self, parent_fd: int, name: str, target_fd: int, depth: int, path_bytes: int
    ) -> None:
        path_bytes += len(os.fsencode(name)) + 1
        if path_bytes > MAX_PATH_BYTES:
            raise NotCollected(f"The output has a path of more than {MAX_PATH_BYTES:,} bytes.")
        try:
            source_fd = os.open(name, OPEN_FLAGS, dir_fd=parent_fd)
        except FileNotFoundError:
            raise NotCollected(f"There is no output {name!r}.") from None
        except OSError as fault:
            raise NotCollected(
                f"The output {name!r} is not a regular file ({fault.strerror})."
            ) from None
        try:
            found = os.fstat(source_fd)
            if stat.S_ISDIR(found.st_mode):
                self._copy_directory(source_fd, name, target_fd, depth, path_bytes)
            elif stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
                self._copy_file(source_fd, name, target_fd, found)
            else:
                raise NotCollected(
                    f"The output {name!r} is not a regular file with one hard link."
                )
        finally:
            os.close(source_fd)

    def _copy_directory(
        self, source_fd: int, name: str, target_fd: int, depth: int, path_bytes: int
    ) -> None:
        if depth > MAX_DEPTH:
            raise NotCollected(f"The output is more than {MAX_DEPTH} directories deep.")
        if depth == 0:
            self._copy_entries(source_fd, target_fd, depth, path_bytes)
            return
        self._count(files=1)
        os.mkdir(name, mode=0o755, dir_fd=target_fd)
        inner_fd = os.open(name, OPEN_FLAGS | os.O_DIRECTORY, dir_fd=target_fd)
        try:
            os.fchmod(inner_fd, 0o755)
            self._copy_entries(source_fd, inner_fd, depth, path_bytes)
        finally:
            os.close(inner_fd)

    def _copy_entries(
        self, source_fd: int, target_fd: int, depth: int, path_bytes: int
    ) -> None:
        with os.scandir(source_fd) as entries:
            for entry in entries:
                self._copy(source_fd, entry.name, target_fd, depth + 1, path_bytes)

    def _copy_file(
        self, source_fd: int, name: str, target_fd: int, found: os.stat_result
    ) -> None:
        self._count(files=1, size=found.st_size)
        mode = 0o755 if found.st_mode & stat.S_IXUSR else 0o644
        with new_file(name, mode, dir_fd=target_fd) as copy_fd:
            # Counted again while copying: the file may have grown since fstat.
            copied = 0
            while chunk := os.read(source_fd, CHUNK_BYTES):
                copied += len(chunk)
                if copied > found.st_size:
                    raise NotCollected(f"The output {name!r} grew while it was copied.")
                write_all(copy_fd, chunk)

    def _count(self, files: int, size: int = 0) -> None:
        self._files += files
        self._bytes += size
        if self._files > self.max_files:
            raise OutputTooLarge(f"The output has more than {self.max_files:,} files.")
        if self._bytes > self.max_bytes:
            raise OutputTooLarge(f"The output has more than {self.max_bytes // MIB} MB.")


def read_scratch_file(scratch_fd: int, path: str, max_bytes: int) -> bytes | None:
    """Reads a file that untrusted code may have written; None: it is not there, is no regular
    file with one name, or is too large. No link is followed on the way.
    """
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts or ".." in parts or len(parts) > MAX_DEPTH:
        return None
    descriptor = os.dup(scratch_fd)
    try:
        for part in parts:
            parent, descriptor = descriptor, -1
            try:
                descriptor = os.open(part, OPEN_FLAGS, dir_fd=parent)
            finally:
                os.close(parent)
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or found.st_size > max_bytes:
            return None
        with os.fdopen(os.dup(descriptor), "rb") as opened:
            return opened.read(max_bytes)
    except OSError:
        return None
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def list_scratch(scratch_fd: int) -> list[str]:
    """Paths of the regular files that untrusted code left, in order.

    No link is followed. Names that no source file could have are left out, and so is all
    beyond the first `MAX_FILES` entries.
    """
    return sorted(walk(scratch_fd, "", iter(range(MAX_FILES))))


def walk(directory_fd: int, prefix: str, budget: Iterator[int]) -> Iterator[str]:
    with os.scandir(directory_fd) as entries:
        # The budget is shared by all directories.
        names = [entry.name for entry, _ in zip(entries, budget, strict=False)]
    for name in names:
        path = prefix + name
        try:
            check_name(path)
            descriptor = os.open(name, OPEN_FLAGS, dir_fd=directory_fd)
        except (Refused, OSError):
            continue
        try:
            mode = os.fstat(descriptor).st_mode
            if stat.S_ISDIR(mode):
                yield from walk(descriptor, f"{path}/", budget)
            elif stat.S_ISREG(mode):
                yield path
        finally:
            os.close(descriptor)


class StagedFiles:
    """Writes files, given by relative path, into the scratch directory before a run."""

    def __init__(self, files: Mapping[str, Path | bytes]) -> None:
        self._files = files

    def __call__(self, scratch: Scratch) -> None:
        for name, content in self._files.items():
            for above in reversed(PurePosixPath(name).parents[:-1]):
                with suppress(FileExistsError):
                    scratch.make_directory(str(above))
            stage_file(scratch, name, content)


def stage_file(scratch: Scratch, name: str, content: Path | bytes) -> None:
    """The sandbox's user may write to the copy."""
    executable = isinstance(content, Path) and os.access(content, os.X_OK)
    with scratch.new_file(name, 0o777 if executable else 0o666) as copy_fd:
        if isinstance(content, bytes):
            write_all(copy_fd, content)
            return
        with content.open("rb", buffering=0) as source:
            while chunk := source.read(CHUNK_BYTES):
                write_all(copy_fd, chunk)


def link_missing(scratch: Scratch, links: Mapping[str, str]) -> None:
    """Creates symbolic links, except where the name is taken."""
    for name, target in links.items():
        with suppress(FileExistsError):
            scratch.make_link(name, target)


@contextmanager
def new_file(path: str | Path, mode: int, *, dir_fd: int | None = None) -> Iterator[int]:
    """Creates a file with exactly this mode, whatever the umask, and opens it for writing."""
    descriptor = os.open(path, WRITE_FLAGS, mode, dir_fd=dir_fd)
    try:
        os.fchmod(descriptor, mode)
        yield descriptor
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
