"""Finished directories kept on disk by key: bounded, shared by processes, never half there.

An entry is filled beside the others and moved to its place when it is whole. Whoever uses one
holds a shared lock on it, and only who gets the exclusive lock may take it away. All of this
blocks: call it in a thread.
"""

import errno
import fcntl
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from deemster.directory_store import DirectoryStore, staged, sweep
from deemster.pipeline.judge.build.manifest import (
    Manifest,
    Seal,
    Unfit,
    Written,
    compare,
    compare_content,
    copy_tree,
    read_manifest,
    write_manifest,
)

FILES = "files"
ROOM = 0.9
"""How full it is after making room."""
MOST_VERIFIED = 10_000
BLOCK_BYTES = 512


@dataclass(frozen=True, slots=True)
class CachedDirectory:
    """Stays in its place until it is released."""

    record: Mapping[str, JsonValue]
    directory: Path | None
    age_s: float
    held: int

    def release(self) -> None:
        os.close(self.held)


def release(entry: CachedDirectory | None) -> None:
    if entry is not None:
        entry.release()


class DirectoryCache:
    def __init__(self, root: Path, max_bytes: int, *, durable: bool = False) -> None:
        """`durable` entries are written through to the disk and then trusted by size and time;
        others are read whole and compared at their first use in a process."""
        self._root = root
        self._staging = root / "filling"
        self._directories = DirectoryStore(root / "entries", self._staging)
        self._ledger = root / "bytes"
        self._max_bytes = max_bytes
        self._durable = durable
        self._verified: dict[str, Written] = {}

    def open(self) -> None:
        """Makes its place, closed to others, and removes what killed processes left there."""
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._root.chmod(0o700)
        if os.statvfs(self._root).f_flag & os.ST_NOEXEC:
            raise OSError(errno.EACCES, "nothing may be executed there", str(self._root))
        self._directories.create_directories()
        sweep(self._staging)

    def take(self, key: str) -> CachedDirectory | None:
        """The entry, held until it is released; a damaged one is removed."""
        try:
            lock = self._directories.hold(key)
        except OSError:
            return None
        if lock is None:
            return None
        try:
            return self._read(key, lock)
        except (OSError, Unfit):
            os.close(lock)
            self.drop(key)
            return None

    def _read(self, key: str, lock: int) -> CachedDirectory:
        path = self._directories.path(key)
        written_at, manifest = read_manifest(path)
        directory = None
        if manifest.files is not None:
            directory = path / FILES
            self._check_files(key, directory, manifest.files)
        return CachedDirectory(manifest.record, directory, time.time() - written_at, lock)

    def _check_files(self, key: str, directory: Path, seals: Mapping[str, Seal]) -> None:
        written = compare(directory, seals)
        if self._durable:
            if any(written[name][1] != seal.mtime_ns for name, seal in seals.items()):
                raise Unfit("a file was written again")
        elif self._verified.get(key) != written:
            compare_content(directory, seals)
            if len(self._verified) >= MOST_VERIFIED:
                self._verified.clear()
            self._verified[key] = written

    def keep(
        self,
        key: str,
        record: Mapping[str, JsonValue],
        directory: Path | None,
        abandoned: threading.Event,
    ) -> None:
        """Copies it in, unless it is too large or there already. OSError: there is no room.

        Who leaves before the end sets `abandoned`: the directory may be half gone by then.
        """
        if directory is not None and disk_bytes(directory) > self._max_bytes * ROOM:
            return
        with staged(self._staging) as path, suppress(Unfit):
            files = None
            if directory is not None:
                files = copy_tree(directory, path / FILES, durable=self._durable)
            manifest = Manifest(record=dict(record), files=files)
            write_manifest(path, manifest, durable=self._durable)
            size = disk_bytes(path)
            if abandoned.is_set() or (lock := self._directories.publish(path, key)) is None:
                return
            os.close(lock)
            if self._add_to_ledger(size) > self._max_bytes:
                self._make_room()

    def drop(self, key: str) -> bool:
        """Removes an entry that is not in use."""
        self._verified.pop(key, None)
        with suppress(OSError):
            return self._directories.drop(key)
        return False

    # -- staying within the bound --

    def _add_to_ledger(self, size: int) -> int:
        """What all entries take, as far as it was written down; a recount mends it."""
        with open_ledger(self._ledger) as ledger:
            text = os.pread(ledger, 32, 0)
            total = int(text) + size if text.isdigit() else self._count()
            write_ledger(ledger, total)
            return total

    def _count(self) -> int:
        return sum(map(disk_bytes, self._directories.by_last_use()))

    def _make_room(self) -> None:
        total = self._directories.evict(int(self._max_bytes * ROOM), disk_bytes)
        with open_ledger(self._ledger) as ledger:
            write_ledger(ledger, total)


def disk_bytes(directory: Path) -> int:
    total = 0
    for above, _, names in os.walk(directory):
        paths = [Path(above), *(Path(above, name) for name in names)]
        for path in paths:
            with suppress(FileNotFoundError):
                total += path.lstat().st_blocks * BLOCK_BYTES
    return total


@contextmanager
def open_ledger(path: Path) -> Iterator[int]:
    ledger = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(ledger, fcntl.LOCK_EX)
        yield ledger
    finally:
        os.close(ledger)


def write_ledger(ledger: int, total: int) -> None:
    os.ftruncate(ledger, 0)
    os.pwrite(ledger, str(total).encode(), 0)
