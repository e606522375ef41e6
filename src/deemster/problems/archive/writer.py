"""Writes the files of a package into a directory, within bounds and without links.

Only this process may enter the directory. It never contains a link, and all names are checked,
so that no path in it leads outside.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import BinaryIO

from deemster.domain.errors import Refused, Unavailable
from deemster.problems.archive.bounds import Bounds
from deemster.problems.archive.names import clean_name, is_tool_file, shown

CHUNK_BYTES = 1 << 20
MAX_TARGET_BYTES = 4_096
"""The longest path of the system, as the target of a link."""
SCRIPTS = frozenset({"build", "run"})


@dataclass(frozen=True, slots=True)
class Link:
    target: str
    from_root: bool = False
    """A hard link in a tar, whose target is relative to the package's root."""


@dataclass(slots=True)
class PackageWriter:
    target: Path
    bounds: Bounds
    packed_bytes: int | None = None
    """Size of the archive; None: the package is a directory."""
    files: dict[str, bool] = field(default_factory=dict)
    """Whether each file is executable, by name."""
    directories: set[str] = field(default_factory=set)
    links: dict[str, Link] = field(default_factory=dict)
    """Replaced by copies at the end, by `links.py`."""
    skip_outside_links: bool = False
    """Leave out links that leave the package, instead of refusing the package."""
    warnings: list[str] = field(default_factory=list)
    _count: int = 0
    _bytes: int = 0

    def add_directory(self, raw: str) -> None:
        name = clean_name(raw)
        if name and not is_tool_file(name):
            self.make_directories(name)

    def add_link(self, raw: str, target: str, *, from_root: bool = False) -> None:
        name = clean_name(raw)
        if is_tool_file(name):
            return
        self._claim(name)
        link = Link(target, from_root)
        if not is_outside(name, link):
            self.links[name] = link
            return
        what = f"The link {shown(name)} leads outside of the package ({shown(target)})"
        if not self.skip_outside_links:
            raise Refused(f"{what}: replace it by a copy of the file.")
        self.warnings.append(f"{what}, and is left out.")

    def add_file(self, raw: str, chunks: Iterable[bytes], *, executable: bool) -> None:
        name = clean_name(raw)
        if is_tool_file(name):
            return
        self._claim(name)
        self.write(name, chunks, executable=executable)

    def write(self, name: str, chunks: Iterable[bytes], *, executable: bool) -> None:
        """Counts the bytes while it writes."""
        with self._on_disk():
            file = self._create(name, 0o755 if executable else 0o644)
        try:
            for chunk in chunks:
                self._bytes += len(chunk)
                self.bounds.check_bytes(self._bytes, self.packed_bytes)
                with self._on_disk():
                    file.write(chunk)
        finally:
            with self._on_disk():
                file.close()
        self.files[name] = executable

    def _create(self, name: str, mode: int) -> BinaryIO:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            descriptor = os.open(self.target / name, flags, mode)
        except FileExistsError:
            raise clash(name) from None
        os.fchmod(descriptor, mode)
        return os.fdopen(descriptor, "wb")

    @contextmanager
    def _on_disk(self) -> Iterator[None]:
        """A fault of the disk is not a fault of the package."""
        try:
            yield
        except OSError as fault:
            raise Unavailable(
                f"The package can't be written to {self.target} ({fault.strerror}): "
                "make room there, or set DEEMSTER_DATA_DIR to another directory."
            ) from fault

    def _claim(self, name: str) -> None:
        """Refuses a name that is taken, and creates its directories."""
        if not name or name in self.files or name in self.directories or name in self.links:
            raise clash(name)
        self.count_entry(name)
        self.make_directories(name.rpartition("/")[0])

    def make_directories(self, name: str) -> None:
        """Creates a directory and those above it."""
        if not name or name in self.directories:
            return
        if name in self.files or name in self.links:
            raise clash(name)
        self.count_entry(name)
        self.make_directories(name.rpartition("/")[0])
        path = self.target / name
        with self._on_disk():
            try:
                path.mkdir()
            except FileExistsError:
                raise clash(name) from None
            path.chmod(0o755)
        self.directories.add(name)

    def count_entry(self, name: str) -> None:
        self.bounds.check_depth(name)
        self._count += 1
        self.bounds.check_files(self._count)


def is_outside(name: str, link: Link) -> bool:
    """Whether the target of a link leaves the package in its first steps.

    The directories above a link are no links themselves. What other links lead to is only
    known when all are there.
    """
    target = link.target
    if target.startswith("/") or not target or len(target) > MAX_TARGET_BYTES:
        return True
    depth = 0 if link.from_root else name.count("/")
    steps = (part for part in target.split("/") if part not in {"", "."})
    return sum(1 for _ in takewhile(lambda part: part == "..", steps)) > depth


def clash(name: str) -> Refused:
    return Refused(f"The package has {shown(name)} more than once: remove all but one.")
