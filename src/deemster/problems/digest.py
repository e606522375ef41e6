"""What makes two packages the same: their names, the execute bits and the bytes."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

VERSION = b"deemster revision 1\0"
"""Changed together with how the digest is made."""


@dataclass(frozen=True, slots=True)
class Measure:
    digest: str
    size_bytes: int


def measure(directory: Path) -> Measure:
    """Of a directory with nothing but files and directories in it."""
    whole = hashlib.sha256(VERSION)
    size = 0
    for name, path in sorted(entries_of(directory)):
        if path.is_dir():
            whole.update(b"directory\0%s\0" % name.encode())
            continue
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").digest()
            found = os.fstat(file.fileno())
        kind = b"script" if found.st_mode & 0o100 else b"file"
        whole.update(b"%s\0%s\0%s" % (kind, name.encode(), content))
        size += found.st_size
    return Measure(whole.hexdigest(), size)


def entries_of(directory: Path) -> Iterator[tuple[str, Path]]:
    """All files, and the directories that hold nothing: the others go without saying."""
    for place, below, files in os.walk(directory):
        here = Path(place)
        for name in files:
            yield str((here / name).relative_to(directory)), here / name
        if not below and not files and here != directory:
            yield str(here.relative_to(directory)), here


def seal(directory: Path) -> None:
    """Nobody writes there any more; everybody who gets that far may read."""
    for place, _, files in os.walk(directory, topdown=False):
        here = Path(place)
        for name in files:
            path = here / name
            path.chmod(0o555 if path.stat().st_mode & 0o100 else 0o444)
        here.chmod(0o555)
