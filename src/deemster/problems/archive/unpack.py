"""Detects the kind of archive and unpacks it."""

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.problems.archive.bounds import Bounds
from deemster.problems.archive.directory import read_directory
from deemster.problems.archive.links import resolve_links
from deemster.problems.archive.tar_archive import read_tar
from deemster.problems.archive.writer import PackageWriter
from deemster.problems.archive.zip_archive import read_zip

ZIP = (b"PK\x03\x04", b"PK\x05\x06")
PACKED_TAR = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")
TAR_MARK, TAR_MARK_AT = b"ustar", 257
FIRST_BYTES = 512
ENDINGS = re.compile(r"\.(zip|kpp|tar(\.\w+)?|tgz|tbz2?|txz)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Unpacked:
    root: Path
    """The directory with the package's own files."""
    name: str
    """Name of the directory or archive, without its extension."""
    warnings: tuple[str, ...] = ()


def unpack(
    source: Path,
    target: Path,
    bounds: Bounds | None = None,
    *,
    skip_outside_links: bool = False,
) -> Unpacked:
    """Fills `target`, an empty directory that only this process may enter.

    Files get mode 0644, or 0755 if they are executable, directories 0755. Links that leave the
    package are refused, or left out with a warning.
    """
    writer = PackageWriter(target, bounds or Bounds(), skip_outside_links=skip_outside_links)
    if source.is_dir():
        read_directory(source, writer)
        resolve_links(writer)
        return Unpacked(target, source.resolve().name, tuple(writer.warnings))
    unpack_archive(source, writer)
    top = single_directory(target)
    name = ENDINGS.sub("", source.name) if top is None else top.name
    return Unpacked(top or target, name, tuple(writer.warnings))


def unpack_inner(source: Path, target: Path, bounds: Bounds) -> None:
    """Unpacks an archive inside a package; a single top directory is kept."""
    unpack_archive(source, PackageWriter(target, bounds))


def unpack_archive(source: Path, writer: PackageWriter) -> None:
    magic, writer.packed_bytes = read_start(source)
    if magic.startswith(ZIP):
        read_zip(source, writer)
    elif magic.startswith(PACKED_TAR) or magic[TAR_MARK_AT:].startswith(TAR_MARK):
        read_tar(source, magic, writer)
    else:
        raise Refused(
            f"{source.name} is not a directory and not a known archive: use a directory, a zip "
            "(also .kpp) or a tar (plain, .gz, .bz2, .xz, .zst)."
        )
    resolve_links(writer)


def read_start(source: Path) -> tuple[bytes, int]:
    """The first bytes and the size, without waiting for a pipe."""
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
    """The only directory at the top, which most archives have."""
    entries = list(target.iterdir())
    return entries[0] if len(entries) == 1 and entries[0].is_dir() else None
