"""A cache of directories on disk, bounded in size and shared by processes.

All methods block: call them in a thread.
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
from deemster.programs.build.manifest import (
    DirectoryManifest,
    FileRecord,
    FileTimes,
    InvalidEntry,
    compare,
    compare_content,
    copy_tree,
    read_manifest,
    write_manifest,
)

FILES = "files"
FILL_LEVEL = 0.9
"""Share of the limit that is used after an eviction."""
MAX_VERIFIED = 10_000
BLOCK_BYTES = 512


@dataclass(frozen=True, slots=True)
class CachedDirectory:
    """An entry, which is not evicted until it is released."""

    record: Mapping[str, JsonValue]
    directory: Path | None
    age_s: float
    lock: int

    def release(self) -> None:
        os.close(self.lock)


def release(entry: CachedDirectory | None) -> None:
    if entry is not None:
        entry.release()


class DirectoryCache:
    def __init__(self, root: Path, max_bytes: int, *, durable: bool = False) -> None:
        """Files of a `durable` cache are synced to disk and later checked by size and time;
        others are compared with their digests at their first use in a process."""
        self._root = root
        self._staging = root / "filling"
        self._directories = DirectoryStore(root / "entries", self._staging)
        self._size_file = root / "bytes"
        self._max_bytes = max_bytes
        self._durable = durable
        self._verified: dict[str, FileTimes] = {}

    def open(self) -> None:
        """Creates the directories, mode 0700, and removes what killed processes left."""
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._root.chmod(0o700)
        if os.statvfs(self._root).f_flag & os.ST_NOEXEC:
            raise OSError(errno.EACCES, "the file system is mounted noexec", str(self._root))
        self._directories.create_directories()
        sweep(self._staging)

    def take(self, key: str) -> CachedDirectory | None:
        """The entry, held until it is released; a damaged entry is removed."""
        try:
            lock = self._directories.hold(key)
        except OSError:
            return None
        if lock is None:
            return None
        try:
            return self._read(key, lock)
        except (OSError, InvalidEntry):
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

    def _check_files(
        self, key: str, directory: Path, records: Mapping[str, FileRecord]
    ) -> None:
        written = compare(directory, records)
        if self._durable:
            if any(written[name][1] != record.mtime_ns for name, record in records.items()):
                raise InvalidEntry("a file was written again")
        elif self._verified.get(key) != written:
            compare_content(directory, records)
            if len(self._verified) >= MAX_VERIFIED:
                self._verified.clear()
            self._verified[key] = written

    def keep(
        self,
        key: str,
        record: Mapping[str, JsonValue],
        directory: Path | None,
        abandoned: threading.Event,
    ) -> None:
        """Copies the directory into the cache, unless it is too large or the key exists.

        OSError: the disk is full. The caller sets `abandoned` if it removes the directory
        before this returns; then nothing is kept.
        """
        if directory is not None and disk_bytes(directory) > self._max_bytes * FILL_LEVEL:
            return
        with staged(self._staging) as path, suppress(InvalidEntry):
            files = None
            if directory is not None:
                files = copy_tree(directory, path / FILES, durable=self._durable)
            manifest = DirectoryManifest(record=dict(record), files=files)
            write_manifest(path, manifest, durable=self._durable)
            size = disk_bytes(path)
            if abandoned.is_set() or (lock := self._directories.publish(path, key)) is None:
                return
            os.close(lock)
            if self._add_to_total(size) > self._max_bytes:
                self._make_room()

    def drop(self, key: str) -> bool:
        """Removes an entry that is not in use."""
        self._verified.pop(key, None)
        with suppress(OSError):
            return self._directories.drop(key)
        return False

    def _add_to_total(self, size: int) -> int:
        """Adds to the stored total size and returns it; counts again if the file is damaged."""
        with open_size_file(self._size_file) as descriptor:
            text = os.pread(descriptor, 32, 0)
            total = int(text) + size if text.isdigit() else self._count()
            write_size_file(descriptor, total)
            return total

    def _count(self) -> int:
        return sum(map(disk_bytes, self._directories.by_last_use()))

    def _make_room(self) -> None:
        total = self._directories.evict(int(self._max_bytes * FILL_LEVEL), disk_bytes)
        with open_size_file(self._size_file) as descriptor:
            write_size_file(descriptor, total)


def disk_bytes(directory: Path) -> int:
    total = 0
    for above, _, names in os.walk(directory):
        paths = [Path(above), *(Path(above, name) for name in names)]
        for path in paths:
            with suppress(FileNotFoundError):
                total += path.lstat().st_blocks * BLOCK_BYTES
    return total


@contextmanager
def open_size_file(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def write_size_file(descriptor: int, total: int) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(total).encode(), 0)
