"""Holds compiled programs that were used last: the next use takes no thread, and reads no file.

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

MOST_HELD: Final = 16
MOST_FILES: Final = 16
MOST_BYTES: Final = 4 << 20
"""Of one build."""
MOST_OF_CACHE: Final = 0.25
"""Share of the cache that held builds may use: it can't evict them."""

FileStamps = dict[str, tuple[int, int, int, int]]
"""Inode, time of change, size and mode of each file."""


@dataclass(slots=True)
class HeldBuild:
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


class HeldBuilds:
    def __init__(self, cache_bytes: int) -> None:
        self._most_bytes = min(MOST_BYTES, cache_bytes * MOST_OF_CACHE / MOST_HELD)
        self._held: OrderedDict[str, HeldBuild] = OrderedDict()

    def add(self, key: str, build: Build, entry: CachedDirectory) -> Callable[[], None]:
        """Returns what the caller has to call after its use, instead of `entry.release`."""
        stamps = None if build.artifact is None else file_stamps(build.artifact.directory)
        if stamps is None or not self._is_small(stamps) or key in self._held:
            return entry.release
        held = self._held[key] = HeldBuild(build, entry, stamps, users=1)
        if len(self._held) > MOST_HELD:
            self._drop(next(iter(self._held)))
        return held.release

    def take(self, key: str) -> HeldBuild | None:
        """The caller releases it after its use. A build whose files were changed is dropped."""
        held = self._held.get(key)
        if held is None:
            return None
        assert held.build.artifact is not None
        if file_stamps(held.build.artifact.directory) != held.stamps:
            self._drop(key)
            return None
        self._held.move_to_end(key)
        os.utime(held.entry.lock)  # for the order of eviction
        held.users += 1
        return held

    def close(self) -> None:
        while self._held:
            self._drop(next(iter(self._held)))

    def _is_small(self, stamps: FileStamps) -> bool:
        size = sum(each for _, _, each, _ in stamps.values())
        return len(stamps) <= MOST_FILES and size <= self._most_bytes

    def _drop(self, key: str) -> None:
        held = self._held.pop(key)
        held.is_dropped = True
        held.release_if_unused()


def file_stamps(directory: Path) -> FileStamps | None:
    """None: the directory is gone, or was changed beyond recognition."""
    try:
        return {
            name: (status.st_ino, status.st_mtime_ns, status.st_size, status.st_mode)
            for name, status in walk(directory)
        }
    except (OSError, InvalidEntry):
        return None
