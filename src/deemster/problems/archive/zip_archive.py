"""Reads untrusted zip archives."""

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.domain.limits import MIB
from deemster.problems.archive.names import shown
from deemster.problems.archive.writer import (
    CHUNK_BYTES,
    MAX_TARGET_BYTES,
    SCRIPTS,
    PackageWriter,
)

MAX_DIRECTORY_BYTES = 64 * MIB
ENTRY_MARK = b"PK\x01\x02"
LOCAL_HEADER_BYTES = 30
METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
"""Other methods need unbounded memory before their output can be counted."""
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
"""Exceptions of zipfile for damaged archives."""


class BoundedReader(io.BufferedReader):
    """Refuses a central directory that is too long before zipfile parses it."""

    max_entries: int | None = None

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > MAX_DIRECTORY_BYTES:
            raise Refused("The zip's central directory is too long: pack it again.")
        data = super().read(size)
        if self.max_entries is not None and data.count(ENTRY_MARK) > self.max_entries:
            raise Refused(
                f"The zip has more than {self.max_entries:,} files, which is the limit: raise "
                "DEEMSTER_PACKAGE_FILES, or leave some out."
            )
        return data


def read_zip(source: Path, writer: PackageWriter) -> None:
    try:
        with BoundedReader(io.FileIO(source)) as file:
            file.max_entries = writer.bounds.files
            with zipfile.ZipFile(file) as archive:
                file.max_entries = None
                refuse_overlaps(archive)
                for info in archive.infolist():
                    read_entry(archive, info, writer)
    except DAMAGE as fault:
        raise Refused(f"The zip {source.name} is damaged ({fault}): pack it again.") from fault


def refuse_overlaps(archive: zipfile.ZipFile) -> None:
    """Zip bombs unpack to petabytes by entries that share bytes."""
    entries = sorted(archive.infolist(), key=lambda info: info.header_offset)
    ends = [info.header_offset for info in entries[1:]] + [archive.start_dir]
    for info, end in zip(entries, ends, strict=True):
        if info.header_offset + LOCAL_HEADER_BYTES + info.compress_size > end:
            raise Refused(f"The zip's entry {shown(info.filename)} overlaps another one.")


def read_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo, writer: PackageWriter) -> None:
    name = name_of(info)
    mode = info.external_attr >> 16 if info.create_system == UNIX else 0
    kind = stat.S_IFMT(mode)
    if info.flag_bits & ENCRYPTED:
        raise Refused(f"The zip is encrypted ({shown(name)}): pack it without a password.")
    if name.endswith("/") or kind == stat.S_IFDIR:
        writer.add_directory(name)
    elif info.compress_type not in METHODS:
        raise Refused(
            f"The zip's entry {shown(name)} uses an unsupported compression method: pack it "
            "with deflate."
        )
    elif kind == stat.S_IFLNK:
        writer.add_link(name, link_target(archive, info))
    elif kind in {0, stat.S_IFREG}:
        executable = bool(mode & stat.S_IXUSR) if kind else name.split("/")[-1] in SCRIPTS
        writer.add_file(name, chunks_of(archive, info), executable=executable)
    else:
        raise Refused(f"The zip's entry {shown(name)} is a device, pipe or socket.")


def name_of(info: zipfile.ZipInfo) -> str:
    """Many tools write UTF-8 without the flag, and some write backslashes."""
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
