"""Decides which files of the host a program in a box can see."""

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from deemster.sandbox.command import Bind, FilesView
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
OWN_TMP: Final = ("var", "tmp")
"""The same, below /var."""
UNWINDER: Final = "libgcc_s.so.1"
"""The C library loads it when a thread ends; no file names it."""


def top_links() -> list[tuple[str, str]]:
    """Returns the target and the path of each symbolic link in the root."""
    return [(str(Path(path).readlink()), path) for path in TOP if Path(path).is_symlink()]


@cache
def system_view() -> FilesView:
    """All programs and libraries of the host, for jury scripts, tests and benchmarks."""
    paths = [*SYSTEM_PATHS, *(path for path in TOP if not Path(path).is_symlink())]
    return FilesView(tuple(Bind(Path(path), path) for path in paths if Path(path).exists()))


@dataclass(frozen=True, slots=True)
class TracedPath:
    target: Path | None
    """Where the links lead; None if a box must not show it, or if nothing is there."""
    links: dict[str, str]
    """Text of each link on the way, by the path of the link."""


class FileNeeds:
    """Reads links, and the libraries and interpreters that files need, each only once."""

    def __init__(self) -> None:
        self.views: dict[tuple[object, ...], FilesView] = {}
        """The views that were made: several languages have the same compiler."""
        self._traced: dict[Path, TracedPath] = {}
        self._found: dict[Path, tuple[Path, ...]] = {}

    def trace(self, path: Path) -> TracedPath:
        found = self._traced.get(path)
        if found is None:
            found = self._traced[path] = _trace(path)
        return found

    def of(self, path: Path) -> tuple[Path, ...]:
        """What a file needs, or all files in a directory."""
        found = self._found.get(path)
        if found is None:
            # A directory may contain scripts that nobody starts.
            scripts = () if path.is_dir() else script_interpreter(path)
            needs = (need for file in _loadable_files(path) for need in needs_of(file))
            found = self._found[path] = tuple(dict.fromkeys((*scripts, *needs)))
        return found


def _trace(path: Path) -> TracedPath:
    links = {}
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
            links[str(at)] = target
        at = Path("/") if target.startswith("/") else at.parent
        names += reversed(Path(target).parts[1 if target.startswith("/") else 0 :])
    return TracedPath(at if at.exists() and can_show(at) else None, links)


def can_show(path: Path) -> bool:
    """Whether a box can have this file or directory of the host."""
    return bool(path.parts[1:2]) and path.parts[1] not in OWN and path.parts[1:3] != OWN_TMP


def make_view(
    paths: Iterable[str],
    mounts: Iterable[Bind] = (),
    hidden: Iterable[str] = (),
    needs: FileNeeds | None = None,
) -> FilesView:
    """Shows these paths, the links that lead to them, and the libraries that they need.

    `mounts` are files that a box shows elsewhere than the host. The directories `hidden`, which
    exist, are empty in a box. Reads many files, so use a thread; views that are made at the
    same time can share `needs`.
    """
    needs = needs or FileNeeds()
    shown, mounts, hidden = frozenset(paths), tuple(mounts), frozenset(hidden)
    key = (shown, mounts, hidden)
    if key not in needs.views:
        needs.views[key] = _make_view(shown, mounts, hidden, needs)
    return needs.views[key]


def _make_view(
    paths: Iterable[str], mounts: Sequence[Bind], hidden: Iterable[str], needs: FileNeeds
) -> FilesView:
    files = _Files(needs)
    for path in (*DATA_PATHS, *paths):
        files.add(Path(path))
    for bind in mounts:
        files.add_needs(bind.source)
    binds, links = files.pruned()
    shown = frozenset(binds)
    return FilesView(
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
        traced = self._needs.trace(path)
        self._links |= traced.links
        if traced.target is not None and traced.target not in self._paths:
            self._paths.add(traced.target)
            self.add_needs(traced.target)

    def add_needs(self, path: Path) -> None:
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
        shown = {str(path) for path in self._paths}
        binds = [path for path in sorted(self._paths) if not _is_inside(str(path), shown)]
        links = sorted(
            (text, path) for path, text in self._links.items() if not _is_inside(path, shown)
        )
        return binds, tuple(links)


def _is_inside(path: str, shown: Collection[str]) -> bool:
    while path := path.rpartition("/")[0]:
        if path in shown:
            return True
    return False


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
