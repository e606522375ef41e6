"""Says what a kept directory must be, so that a damaged one is found out."""

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from deemster.pipeline.judge.scratch import CHUNK_BYTES, WRITE_FLAGS, write_all

MANIFEST = "manifest"


class Unfit(Exception):
    """It is not what was kept, or nothing that can be."""


class Seal(BaseModel):
    """What a kept file must be."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    size: int
    mode: int
    mtime_ns: int
    sha256: str


class Manifest(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1
    record: dict[str, JsonValue]
    files: dict[str, Seal] | None
    """None where there was nothing but the record to keep."""


def write_manifest(directory: Path, manifest: Manifest, *, durable: bool) -> None:
    text = manifest.model_dump_json().encode()
    descriptor = os.open(directory / MANIFEST, WRITE_FLAGS, 0o600)
    try:
        write_all(descriptor, hashlib.sha256(text).hexdigest().encode() + b"\n" + text)
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_manifest(directory: Path) -> tuple[float, Manifest]:
    """With the time at which it was written."""
    with (directory / MANIFEST).open("rb") as opened:
        written_at = os.fstat(opened.fileno()).st_mtime
        check, _, text = opened.read().partition(b"\n")
    if hashlib.sha256(text).hexdigest().encode() != check:
        raise Unfit("its manifest was changed")
    try:
        return written_at, Manifest.model_validate_json(text)
    except ValidationError as fault:
        raise Unfit("its manifest is of another kind") from fault


def copy_tree(source: Path, target: Path, *, durable: bool) -> dict[str, Seal]:
    """Copies a directory so that a box's user can read it, and seals each file."""
    make_open(target)
    seals = {}
    for name, status in walk(source):
        for above in reversed(Path(name).parents[:-1]):
            if not (target / above).is_dir():
                make_open(target / above)
        mode = 0o755 if status.st_mode & stat.S_IXUSR else 0o644
        seals[name] = copy_file(source / name, target / name, mode, durable=durable)
    return seals


def make_open(directory: Path) -> None:
    directory.mkdir()
    directory.chmod(0o755)


def copy_file(source: Path, target: Path, mode: int, *, durable: bool) -> Seal:
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
    return Seal(
        size=done.st_size,
        mode=done.st_mode,
        mtime_ns=done.st_mtime_ns,
        sha256=hasher.hexdigest(),
    )


Written = dict[str, tuple[int, int]]
"""Of each file the inode and when it was written."""


def compare(directory: Path, seals: Mapping[str, Seal]) -> Written:
    """Sees whether the same files are there, by all but their content."""
    found = dict(walk(directory))
    if found.keys() != seals.keys():
        raise Unfit("files came or went")
    for name, status in found.items():
        if status.st_size != seals[name].size or status.st_mode != seals[name].mode:
            raise Unfit(f"{name} was changed")
    return {name: (status.st_ino, status.st_mtime_ns) for name, status in found.items()}


def compare_content(directory: Path, seals: Mapping[str, Seal]) -> None:
    for name, seal in seals.items():
        with (directory / name).open("rb", buffering=0) as opened:
            if hashlib.file_digest(opened, "sha256").hexdigest() != seal.sha256:
                raise Unfit(f"{name} was changed")


def walk(directory: Path) -> Iterator[tuple[str, os.stat_result]]:
    """All plain files below, by relative path; anything else but directories is refused."""
    pending = [""]
    while pending:
        prefix = pending.pop()
        with os.scandir(directory / prefix) as entries:
            for entry in entries:
                name, status = prefix + entry.name, entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    pending.append(f"{name}/")
                elif stat.S_ISREG(status.st_mode) and is_text(name):
                    yield name, status
                else:
                    raise Unfit(f"{name!r} is no plain file")


def is_text(name: str) -> bool:
    """A name that is no text can't be written down."""
    try:
        return bool(name.encode())
    except UnicodeEncodeError:
        return False
