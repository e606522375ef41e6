"""Keeps the compiled programs that were used last in memory: using them again takes no thread
and reads no file.

A program that is run on samples is often submitted next, and a session runs the same program
with other input."""

import os
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deemster.programs.build.cache import CachedDirectory
from deemster.programs.build.compile import Build
from deemster.programs.build.manifest import InvalidEntry, walk

MAX_BUILDS: Final = 16
MAX_FILES: Final = 16
MAX_BYTES: Final = 4 << 20
"""Of one build."""
MAX_CACHE_SHARE: Final = 0.25
"""Share of the cache that these builds may use: it can't evict them."""

FileStamps = dict[str, tuple[int, int, int, int]]
"""Inode, time of change, size and mode of each file."""


@dataclass(slots=True)
class RecentBuild:
    build: Build
    entry: CachedDirectory
    stamps: FileStamps
    users: int = 0
    is_dropped: bool = False

    def release(self) -> None:
        self.users -= 1
        self.release_if_unused()

    def release_if_unused(self) -> None:
        if self.is_dropped and not self.users:
            self.entry.release()


class RecentBuilds:
    def __init__(self, cache_bytes: int) -> None:
        self._most_bytes = min(MAX_BYTES, cache_bytes * MAX_CACHE_SHARE / MAX_BUILDS)
        self._recent: OrderedDict[str, RecentBuild] = OrderedDict()

    def add(self, key: str, build: Build, entry: CachedDirectory) -> Callable[[], None]:
        """Returns what the caller has to call after its use, instead of `entry.release`."""
        stamps = None if build.program is None else file_stamps(build.program.directory)
        if stamps is None or not self._is_small(stamps) or key in self._recent:
            return entry.release
        recent = self._recent[key] = RecentBuild(build, entry, stamps, users=1)
        if len(self._recent) > MAX_BUILDS:
            self._drop(next(iter(self._recent)))
        return recent.release

    def take(self, key: str) -> RecentBuild | None:
        """The caller releases it after its use. A build whose files were changed is dropped."""
        recent = self._recent.get(key)
        if recent is None:
            return None
        assert recent.build.program is not None
        if file_stamps(recent.build.program.directory) != recent.stamps:
            self._drop(key)
            return None
        self._recent.move_to_end(key)
        os.utime(recent.entry.lock)  # for the order of eviction
        recent.users += 1
        return recent

    def close(self) -> None:
        while self._recent:
            self._drop(next(iter(self._recent)))

    def _is_small(self, stamps: FileStamps) -> bool:
        size = sum(each for _, _, each, _ in stamps.values())
        return len(stamps) <= MAX_FILES and size <= self._most_bytes

    def _drop(self, key: str) -> None:
        recent = self._recent.pop(key)
        recent.is_dropped = True
        recent.release_if_unused()


def file_stamps(directory: Path) -> FileStamps | None:
    """None: the directory is gone, or was changed beyond recognition."""
    try:
        return {
            name: (status.st_ino, status.st_mtime_ns, status.st_size, status.st_mode)
            for name, status in walk(directory)
        }
    except (OSError, InvalidEntry):
        return None
