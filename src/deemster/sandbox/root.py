"""Decides which files of the host the views of boxes show."""

import os
import stat
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

from deemster.sandbox.command import Bind, View
from deemster.sandbox.elf import STANDARD_DIRECTORIES, is_loadable, needs_of, script_interpreter

SYSTEM_PATHS: Final = (
    *("/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/libexec"),
    *("/usr/include", "/usr/share", "/usr/local/bin", "/usr/local/lib", "/usr/local/include"),
    *("/etc/alternatives", "/etc/ld.so.cache"),
)
TOP: Final = ("/bin", "/lib", "/lib32", "/lib64", "/libx32")
"""Links into /usr on most systems, directories on the rest."""
DATA_PATHS: Final = ("/usr/lib/locale/C.utf8", "/usr/share/zoneinfo")
"""Data files of the C library, in every view."""
WITHOUT_BINARIES: Final = ("/usr/include", "/usr/share")
"""By the Filesystem Hierarchy Standard, nothing below needs a library; they are large."""
OWN: Final = frozenset({"code", "data", "dev", "proc", "run", "tmp", "work"})
"""Directories that each box has itself; those of the host are never shown."""
UNWINDER: Final = "libgcc_s.so.1"
"""The C library loads it when a thread ends; no file names it."""


def top_links() -> list[tuple[str, str]]:
    """Returns the target and the path of each symbolic link in the root."""
    return [(str(Path(path).readlink()), path) for path in TOP if Path(path).is_symlink()]


@cache
def system_view() -> View:
    """All programs and libraries of the host, for jury scripts, tests and benchmarks."""
    paths = [*SYSTEM_PATHS, *(path for path in TOP if not Path(path).is_symlink())]
    return View(tuple(Bind(Path(path), path) for path in paths if Path(path).exists()))


class FileNeeds:
    """Reads the libraries and interpreters that files need, each file only once."""

    def __init__(self) -> None:
        self._found: dict[Path, tuple[Path, ...]] = {}

    def of(self, path: Path) -> tuple[Path, ...]:
        """What a file needs, or all files in a directory."""
        found = self._found.get(path)
        if found is None:
            needs = (need for file in _loadable_files(path) for need in needs_of(file))
            found = self._found[path] = tuple(dict.fromkeys(needs))
        return found


def make_view(
    paths: Iterable[str],
    mounts: Iterable[Bind] = (),
    hidden: Iterable[str] = (),
    needs: FileNeeds | None = None,
) -> View:
    """Shows these paths, the links that lead to them, and the libraries that they need.

    `mounts` are files that a box shows elsewhere than the host. The directories `hidden`, which
    exist, are empty in a box. Reads many files, so use a thread; views that are made at the
    same time can share `needs`.
    """
    mounts = tuple(mounts)
    files = _Files(needs or FileNeeds())
    for path in (*DATA_PATHS, *paths):
        files.add(Path(path))
    for bind in mounts:
        files.add_needs(bind.source)
    binds, links = files.pruned()
    shown = frozenset(binds)
    return View(
        binds=(*(Bind(path, str(path)) for path in binds), *mounts),
        links=links,
        hidden=tuple(
            sorted(path for path in hidden if not shown.isdisjoint(Path(path).parents))
        ),
        stamps=tuple(_stamp(path) for path in binds if not path.is_dir()),
    )


class _Files:
    """Collects files and directories with everything that they need."""

    def __init__(self, needs: FileNeeds) -> None:
        self._needs = needs
        self._paths: set[Path] = set()
        self._added: set[Path] = set()
        """As they were named: most files need the same few libraries."""
        self._links: dict[str, str] = {}

    def add(self, path: Path) -> None:
        """Adds a path, and the links that it leads through."""
        if path in self._added:
            return
        self._added.add(path)
        at, names = Path("/"), list(reversed(path.parts[1:]))
        while names:
            name = names.pop()
            if name == "..":
                at = at.parent
                continue
            at /= name
            if not at.is_symlink():
                continue
            target = str(at.readlink())
            if at.parent != Path("/"):  # those in the root are in every box
                self._links[str(at)] = target
            at = Path("/") if target.startswith("/") else at.parent
            names += reversed(Path(target).parts[1 if target.startswith("/") else 0 :])
        if at not in self._paths and at.exists() and at.parts[1:2] and at.parts[1] not in OWN:
            self._paths.add(at)
            self.add_needs(at)

    def add_needs(self, path: Path) -> None:
        if not path.is_dir():  # a directory may contain scripts that nobody starts
            for interpreter in script_interpreter(path):
                self.add(interpreter)
        for need in self._needs.of(path):
            self._add_need(need)

    def _add_need(self, need: Path) -> None:
        if need in self._added:
            return
        self.add(need)
        if need.name == "libc.so.6" and (need.parent / UNWINDER).exists():
            self.add(need.parent / UNWINDER)
        place = STANDARD_DIRECTORIES[-1] / need.name
        if ".so" in need.name and not _is_standard(need.parent) and not place.exists():
            # A box has no cache of the loader, which knows other directories.
            self._links.setdefault(str(place), str(need))

    def pruned(self) -> tuple[list[Path], tuple[tuple[str, str], ...]]:
        """Leaves out what is in a directory that is shown itself."""
        binds = [path for path in sorted(self._paths) if not self._is_inside(path)]
        links = sorted(
            (text, path)
            for path, text in self._links.items()
            if not self._is_inside(Path(path))
        )
        return binds, tuple(links)

    def _is_inside(self, path: Path) -> bool:
        return any(parent in self._paths for parent in path.parents)


@cache
def _is_standard(directory: Path) -> bool:
    return directory.resolve() in {each.resolve() for each in STANDARD_DIRECTORIES}


def _loadable_files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    if any(map(path.is_relative_to, WITHOUT_BINARIES)):
        return
    for folder, _, names in os.walk(path):
        for name in names:
            file = os.path.join(folder, name)  # noqa: PTH118 - thousands of them
            status = os.lstat(file)
            if stat.S_ISREG(status.st_mode) and is_loadable(name, status.st_mode):
                yield Path(file)


def _stamp(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns, status.st_ino
