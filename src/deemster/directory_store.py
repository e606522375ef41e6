"""Directories that processes share: filled aside, moved into place whole, locked while in use.

A process fills a staging directory of its own and then renames it to its final name. Users of
a directory hold a shared lock on it, and its removal needs an exclusive one. A lock ends with
its process: `sweep` removes staging directories without one, which killed processes left. All
functions block: call them in a thread.
"""

import fcntl
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from errno import EEXIST, ENOTEMPTY
from pathlib import Path

from deemster.locks import lock_current, lock_directory, locked

REMOVAL_TRIES = 20
SWEEP_TRIES = 10
SWEEP_PAUSE_S = 0.01


class DirectoryStore:
    def __init__(self, entries: Path, staging: Path, names: str = r".+") -> None:
        """`names` is the pattern of entries; other files in `entries` are left alone."""
        self._entries = entries
        self._staging = staging
        self._names = re.compile(names)

    def create_directories(self) -> None:
        for directory in (self._staging, self._entries):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def path(self, name: str) -> Path:
        return self._entries / name

    def hold(self, name: str) -> int | None:
        """A shared lock on an entry, which now counts as just used; None: there is no such."""
        path = self._entries / name
        while path.is_dir():
            lock = lock_current(path, fcntl.LOCK_SH)
            if lock is not None:
                os.utime(lock)
                return lock
        return None

    def publish(self, directory: Path, name: str) -> int | None:
        """Makes a finished directory an entry; returns a shared lock, or None if it exists."""
        lock = lock_directory(directory, fcntl.LOCK_SH)
        try:
            directory.rename(self._entries / name)
        except OSError as fault:
            os.close(lock)
            if fault.errno in {EEXIST, ENOTEMPTY}:
                return None
            raise
        return lock

    def drop(self, name: str) -> bool:
        """Removes an entry unless it is in use."""
        path = self._entries / name
        with staged(self._staging) as place:
            lock = lock_current(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if lock is None:
                return False
            try:
                path.rename(place / name)
            finally:
                os.close(lock)
        return True

    def evict(self, max_bytes: int, size_of: Callable[[Path], int | None]) -> int:
        """Drops the least recently used entries until the others fit; returns their size.

        An entry without a size is damaged and always dropped.
        """
        with locked(self._entries, fcntl.LOCK_EX):
            sizes = {path: size_of(path) for path in self.by_last_use()}
            total = sum(size or 0 for size in sizes.values())
            for path, size in sizes.items():
                if (size is None or total > max_bytes) and self.drop(path.name):
                    total -= size or 0
        return total

    def by_last_use(self) -> list[Path]:
        """The entries, least recently used first."""
        found = []
        with suppress(FileNotFoundError), os.scandir(self._entries) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    if self._names.fullmatch(entry.name):
                        found.append((entry.stat().st_mtime_ns, Path(entry.path)))
        return [path for _, path in sorted(found)]


# ---- staging directories ----


@contextmanager
def staged(root: Path) -> Iterator[Path]:
    """A new directory for this caller, removed afterwards unless it was renamed."""
    path, lock = create(root)
    try:
        yield path
    finally:
        remove(path, lock)


def create(root: Path) -> tuple[Path, int]:
    """A new directory, and a lock on it that keeps `sweep` from removing it."""
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(root, fcntl.LOCK_SH):
        path = Path(tempfile.mkdtemp(dir=root))
        return path, lock_directory(path, fcntl.LOCK_SH)


def remove(path: Path, lock: int) -> None:
    remove_tree(path)
    os.close(lock)


def remove_tree(path: Path) -> None:
    """Removes read-only directories too, and tries again while another thread writes there."""
    for _ in range(REMOVAL_TRIES):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return
        with suppress(OSError):
            # By descriptors, because a judged program may have left links.
            for *_, descriptor in os.fwalk(path):
                os.fchmod(descriptor, 0o700)


def sweep(root: Path) -> int:
    """Removes the directories that killed processes left behind and returns their number."""
    for _ in range(SWEEP_TRIES):
        try:
            # The lock on the root excludes processes that created a directory but have not
            # locked it yet.
            with locked(root, fcntl.LOCK_EX | fcntl.LOCK_NB):
                return sum(remove_if_unused(path) for path in root.iterdir())
        except FileNotFoundError:
            break
        except BlockingIOError:
            time.sleep(SWEEP_PAUSE_S)  # another process is creating a directory
    return 0


def remove_if_unused(path: Path) -> bool:
    try:
        with locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB):
            remove_tree(path)
    except OSError:
        return False
    return True
