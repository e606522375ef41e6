"""Reads zip archives whose every field may lie."""

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.domain.limits import MIB
from deemster.problems.archive.intake import (
    CHUNK_BYTES,
    MAX_TARGET_BYTES,
    SCRIPTS,
    Intake,
)
from deemster.problems.archive.names import shown

MAX_DIRECTORY_BYTES = 64 * MIB
ENTRY_MARK = b"PK\x01\x02"
LOCAL_HEADER_BYTES = 30
METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
"""The others unpack a whole block, or take their memory, before anything can be counted."""
ENCRYPTED, UTF8 = 0x1, 0x800
UNIX = 3
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    UnicodeError,
    ValueError,
    NotImplementedError,
    RuntimeError,
    OSError,
)
"""All that the library raises for a zip that is broken."""


class Guarded(io.BufferedReader):
    """Refuses a list of contents that is too long before objects are made of it."""

    most_entries: int | None = None

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > MAX_DIRECTORY_BYTES:
            raise Refused("The zip's list of contents is too long: pack it again.")
        data = super().read(size)
        if self.most_entries is not None and data.count(ENTRY_MARK) > self.most_entries:
            raise Refused(
                f"The zip holds more than {self.most_entries:,} files, which is the most that "
                "is taken: raise DEEMSTER_PACKAGE_FILES, or leave some out."
            )
        return data


def take_zip(source: Path, intake: Intake) -> None:
    try:
        with Guarded(io.FileIO(source)) as file:
            file.most_entries = intake.bounds.files
            with zipfile.ZipFile(file) as archive:
                file.most_entries = None
                refuse_overlaps(archive)
                for info in archive.infolist():
                    take_entry(archive, info, intake)
    except DAMAGE as fault:
        raise Refused(f"The zip {source.name} is damaged ({fault}): pack it again.") from fault


def refuse_overlaps(archive: zipfile.ZipFile) -> None:
    """Entries that share bytes are how a small zip unpacks to petabytes."""
    entries = sorted(archive.infolist(), key=lambda info: info.header_offset)
    ends = [info.header_offset for info in entries[1:]] + [archive.start_dir]
    for info, end in zip(entries, ends, strict=True):
        if info.header_offset + LOCAL_HEADER_BYTES + info.compress_size > end:
            raise Refused(f"The zip's entry {shown(info.filename)} overlaps another one.")


def take_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo, intake: Intake) -> None:
    name = name_of(info)
    mode = info.external_attr >> 16 if info.create_system == UNIX else 0
    kind = stat.S_IFMT(mode)
    if info.flag_bits & ENCRYPTED:
        raise Refused(f"The zip is encrypted ({shown(name)}): pack it without a password.")
    if name.endswith("/") or kind == stat.S_IFDIR:
        intake.add_directory(name)
    elif info.compress_type not in METHODS:
        raise Refused(
            f"The zip's entry {shown(name)} is packed by a method that isn't taken: "
            "pack it with the usual one, deflate."
        )
    elif kind == stat.S_IFLNK:
        intake.add_link(name, link_target(archive, info))
    elif kind in {0, stat.S_IFREG}:
        executable = bool(mode & stat.S_IXUSR) if kind else name.split("/")[-1] in SCRIPTS
        intake.add_file(name, chunks_of(archive, info), executable=executable)
    else:
        raise Refused(f"The zip's entry {shown(name)} is a device, pipe or socket.")


def name_of(info: zipfile.ZipInfo) -> str:
    """Many tools write UTF-8 and don't say so; some write the separator of Windows."""
    name = info.filename
    if not info.flag_bits & UTF8:
        try:
            name = name.encode("cp437").decode("utf-8")
        except UnicodeError:
            name = info.filename
    return name.replace("\\", "/")


def link_target(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> str:
    with archive.open(info) as file:
        return file.read(MAX_TARGET_BYTES + 1).decode("utf-8")


def chunks_of(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    with archive.open(info) as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk
