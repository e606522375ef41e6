"""Unpacks the zip archive with a submission's additional files, without trusting it."""

import base64
import io
import re
import stat
import zipfile
from typing import Final

from deemster.problems.archive.zip_archive import (
    DAMAGE,
    ENCRYPTED,
    ENTRY_MARK,
    METHODS,
    name_of,
)

EXTRACTED_KB: Final = 10240
MAX_FILES: Final = 250
MAX_ENTRIES: Final = 20_000
"""Also of archives within the archive: they can't be told apart before it is read."""


class BadArchive(Exception):
    """The message goes to the client, after the name of the field."""


def decode(content: bytes) -> bytes:
    """As Ruby decodes base64: other characters are skipped, and padding may be missing."""
    kept = re.sub(rb"[^A-Za-z0-9+/]", b"", content)
    kept = kept[:-1] if len(kept) % 4 == 1 else kept
    return base64.b64decode(kept + b"=" * (-len(kept) % 4))


def unzip(archive: bytes) -> dict[str, bytes]:
    if archive.count(ENTRY_MARK) > MAX_ENTRIES:
        raise BadArchive(f"has more than {MAX_FILES} files")
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            return read_files(opened)
    except DAMAGE:
        raise BadArchive("is not a zip archive") from None


def read_files(opened: zipfile.ZipFile) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    left = EXTRACTED_KB * 1024
    for entry in opened.infolist():
        if not entry.filename:
            raise BadArchive("has a file without a name")
        if entry.is_dir():
            continue
        check_entry(entry)
        if len(found) >= MAX_FILES:
            raise BadArchive(f"has more than {MAX_FILES} files")
        with opened.open(entry) as file:
            content = file.read(left + 1)
        left -= len(content)
        if left < 0:
            raise BadArchive(f"is larger than {EXTRACTED_KB} KB when extracted")
        found[name_of(entry).removeprefix("./")] = content
    return found


def check_entry(entry: zipfile.ZipInfo) -> None:
    if entry.flag_bits & ENCRYPTED:
        raise BadArchive("is an encrypted zip archive")
    if entry.compress_type not in METHODS:
        raise BadArchive("uses an unsupported compression method: pack it with deflate")
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise BadArchive("contains a symbolic link")
