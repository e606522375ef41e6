"""Tells what a package is packed as, and unpacks it."""

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.problems.archive.bounds import Bounds
from deemster.problems.archive.folder import take_folder
from deemster.problems.archive.intake import Intake
from deemster.problems.archive.links import resolve_links
from deemster.problems.archive.tarred import take_tar
from deemster.problems.archive.zipped import take_zip

ZIP = (b"PK\x03\x04", b"PK\x05\x06")
PACKED_TAR = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")
TAR_MARK, TAR_MARK_AT = b"ustar", 257
FIRST_BYTES = 512
ENDINGS = re.compile(r"\.(zip|kpp|tar(\.\w+)?|tgz|tbz2?|txz)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Unpacked:
    root: Path
    """Where the package's own files begin."""
    name: str
    """What its directory or archive was called."""


def unpack(source: Path, target: Path, bounds: Bounds | None = None) -> Unpacked:
    """Fills `target`, an empty directory that nobody else may enter.

    Files end up with mode 0644, or 0755 if they may be executed, directories with 0755.
    """
    bounds = bounds or Bounds()
    if source.is_dir():
        intake = Intake(target, bounds)
        take_folder(source, intake)
        resolve_links(intake)
        return Unpacked(target, source.resolve().name)
    take_archive(source, target, bounds)
    top = single_directory(target)
    if top is not None:
        return Unpacked(top, top.name)
    return Unpacked(target, ENDINGS.sub("", source.name))


def unpack_inner(source: Path, target: Path, bounds: Bounds) -> None:
    """An archive that a package names as a part of itself; nothing is descended into."""
    take_archive(source, target, bounds)


def take_archive(source: Path, target: Path, bounds: Bounds) -> None:
    magic, size = look_at(source)
    intake = Intake(target, bounds, packed_bytes=size)
    if magic.startswith(ZIP):
        take_zip(source, intake)
    elif magic.startswith(PACKED_TAR) or magic[TAR_MARK_AT:].startswith(TAR_MARK):
        take_tar(source, magic, intake)
    else:
        raise Refused(
            f"{source.name} is neither a directory nor an archive that is known: give a "
            "directory, a zip (also .kpp) or a tar (plain, .gz, .bz2, .xz, .zst)."
        )
    resolve_links(intake)


def look_at(source: Path) -> tuple[bytes, int]:
    """The first bytes and the size; without waiting for a pipe."""
    try:
        descriptor = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as fault:
        raise Refused(f"{source} can't be read: {fault.strerror}.") from fault
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise Refused(f"{source} is neither a directory nor a file.")
        return os.read(descriptor, FIRST_BYTES), found.st_size
    finally:
        os.close(descriptor)


def single_directory(target: Path) -> Path | None:
    """Archives mostly hold one directory with all the rest in it."""
    entries = list(target.iterdir())
    return entries[0] if len(entries) == 1 and entries[0].is_dir() else None
