"""Computes the digest of a package from file names, execute bits and contents."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

VERSION = b"deemster revision 1\0"
"""Changes with the way in which the digest is computed."""


@dataclass(frozen=True, slots=True)
class Measured:
    digest: str
    size_bytes: int


def measure(directory: Path) -> Measured:
    """The directory must contain only files and directories."""
    whole = hashlib.sha256(VERSION)
    size = 0
    for name, path in sorted(files_of(directory)):
        if path.is_dir():
            whole.update(b"directory\0%s\0" % name.encode())
            continue
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").digest()
            found = os.fstat(file.fileno())
        kind = b"script" if found.st_mode & 0o100 else b"file"
        whole.update(b"%s\0%s\0%s" % (kind, name.encode(), content))
        size += found.st_size
    return Measured(whole.hexdigest(), size)


def files_of(directory: Path) -> Iterator[tuple[str, Path]]:
    """All files and all empty directories, with their relative paths."""
    for place, below, files in os.walk(directory):
        here = Path(place)
        for name in files:
            yield str((here / name).relative_to(directory)), here / name
        if not below and not files and here != directory:
            yield str(here.relative_to(directory)), here


def seal(directory: Path) -> None:
    """Makes everything read-only for everyone."""
    for place, _, files in os.walk(directory, topdown=False):
        here = Path(place)
        for name in files:
            path = here / name
            path.chmod(0o555 if path.stat().st_mode & 0o100 else 0o444)
        here.chmod(0o555)
