"""The manifest of a cached directory, by which damage to its files is found."""

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from deemster.programs.scratch import CHUNK_BYTES, WRITE_FLAGS, write_all

MANIFEST = "manifest"


class InvalidEntry(Exception):
    """The entry is damaged, or the directory can't be cached."""


class FileRecord(BaseModel):
    """Size, mode, time and digest of a cached file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    size: int
    mode: int
    mtime_ns: int
    sha256: str


class DirectoryManifest(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1
    record: dict[str, JsonValue]
    files: dict[str, FileRecord] | None
    """None if the entry has only its record."""


def write_manifest(directory: Path, manifest: DirectoryManifest, *, durable: bool) -> None:
    text = manifest.model_dump_json().encode()
    descriptor = os.open(directory / MANIFEST, WRITE_FLAGS, 0o600)
    try:
        write_all(descriptor, hashlib.sha256(text).hexdigest().encode() + b"\n" + text)
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_manifest(directory: Path) -> tuple[float, DirectoryManifest]:
    """Returns also the time at which the manifest was written."""
    with (directory / MANIFEST).open("rb") as opened:
        written_at = os.fstat(opened.fileno()).st_mtime
        check, _, text = opened.read().partition(b"\n")
    if hashlib.sha256(text).hexdigest().encode() != check:
        raise InvalidEntry("the manifest was changed")
    try:
        return written_at, DirectoryManifest.model_validate_json(text)
    except ValidationError as fault:
        raise InvalidEntry("the manifest has another format") from fault


def copy_tree(source: Path, target: Path, *, durable: bool) -> dict[str, FileRecord]:
    """Copies a directory so that the sandbox user can read it; records each file."""
    make_readable_directory(target)
    records = {}
    for name, status in walk(source):
        for above in reversed(Path(name).parents[:-1]):
            if not (target / above).is_dir():
                make_readable_directory(target / above)
        mode = 0o755 if status.st_mode & stat.S_IXUSR else 0o644
        records[name] = copy_file(source / name, target / name, mode, durable=durable)
    return records


def make_readable_directory(directory: Path) -> None:
    directory.mkdir()
    directory.chmod(0o755)


def copy_file(source: Path, target: Path, mode: int, *, durable: bool) -> FileRecord:
    hasher = hashlib.sha256()
    copy_fd = os.open(target, WRITE_FLAGS, mode)
    try:
        os.fchmod(copy_fd, mode)
        with source.open("rb", buffering=0) as opened:
            while chunk := opened.read(CHUNK_BYTES):
                hasher.update(chunk)
                write_all(copy_fd, chunk)
        if durable:
            os.fsync(copy_fd)
        done = os.fstat(copy_fd)
    finally:
        os.close(copy_fd)
    return FileRecord(
        size=done.st_size,
        mode=done.st_mode,
        mtime_ns=done.st_mtime_ns,
        sha256=hasher.hexdigest(),
    )


FileTimes = dict[str, tuple[int, int]]
"""Inode and modification time of each file."""


def compare(directory: Path, records: Mapping[str, FileRecord]) -> FileTimes:
    """Checks names, sizes and modes, but not the content."""
    found = dict(walk(directory))
    if found.keys() != records.keys():
        raise InvalidEntry("files were added or removed")
    for name, status in found.items():
        if status.st_size != records[name].size or status.st_mode != records[name].mode:
            raise InvalidEntry(f"{name} was changed")
    return {name: (status.st_ino, status.st_mtime_ns) for name, status in found.items()}


def compare_content(directory: Path, records: Mapping[str, FileRecord]) -> None:
    for name, record in records.items():
        with (directory / name).open("rb", buffering=0) as opened:
            if hashlib.file_digest(opened, "sha256").hexdigest() != record.sha256:
                raise InvalidEntry(f"{name} was changed")


def walk(directory: Path) -> Iterator[tuple[str, os.stat_result]]:
    """All regular files by relative path; other types except directories are refused."""
    pending = [""]
    while pending:
        prefix = pending.pop()
        with os.scandir(directory / prefix) as entries:
            for entry in entries:
                name, status = prefix + entry.name, entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    pending.append(f"{name}/")
                elif stat.S_ISREG(status.st_mode) and is_unicode(name):
                    yield name, status
                else:
                    raise InvalidEntry(f"{name!r} is not a regular file")


def is_unicode(name: str) -> bool:
    """JSON can't hold names with undecodable bytes."""
    try:
        return bool(name.encode())
    except UnicodeEncodeError:
        return False
