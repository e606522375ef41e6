"""Reads tar archives, packed by any of the usual ways, whose every field may lie."""

import bz2
import gzip
import io
import lzma
import re
import sys
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.domain.limits import MIB
from deemster.problems.archive.intake import CHUNK_BYTES, Intake
from deemster.problems.archive.names import shown

MAX_HEADER_BYTES = 64 * 1024
DIGITS = re.compile(rb"\d{100}")
"""In no sound header, and slow to parse for years of versions of tarfile."""
BLOCK_BYTES = 512
BLOCKS_PER_FILE = 6
"""A header, one for a long name with the name, one for attributes, and the rounding."""
XZ_MEMORY_BYTES = 256 * MIB
DAMAGE = (tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, UnicodeError, ValueError)
"""Beside OSError, which the libraries raise too."""


def take_tar(source: Path, magic: bytes, intake: Intake) -> None:
    try:
        with opened(source, magic) as stream:
            meter = Metered(stream, intake)
            with tarfile.open(fileobj=meter, mode="r:") as tar:
                for member in tar:
                    take_member(tar, member, meter, intake)
    except (*DAMAGE, OSError) as fault:
        raise Refused(f"The tar {source.name} is damaged ({fault}): pack it again.") from fault


def opened(source: Path, magic: bytes) -> io.BufferedIOBase:
    if magic.startswith(b"\x1f\x8b"):
        return gzip.open(source)
    if magic.startswith(b"BZh"):
        return bz2.open(source)
    if magic.startswith(b"\xfd7zXZ"):
        return io.BufferedReader(XzStream(io.FileIO(source)), CHUNK_BYTES)
    if magic.startswith(b"\x28\xb5\x2f\xfd"):
        return opened_zstd(source)
    return source.open("rb")


def opened_zstd(source: Path) -> io.BufferedIOBase:
    if sys.version_info >= (3, 14):
        from compression import zstd  # noqa: PLC0415 - not there before

        return zstd.open(source)
    raise Refused(
        f"{source.name} is packed with zstd, which Python reads from 3.14 on: "
        "pack it with gzip or xz, or as a zip."
    )


class XzStream(io.RawIOBase):
    """Like the library's, with a bound on the memory that an archive may ask for."""

    def __init__(self, raw: io.FileIO) -> None:
        self._raw = raw
        self._xz = lzma.LZMADecompressor(lzma.FORMAT_XZ, XZ_MEMORY_BYTES)
        self._ahead = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        data = self._next(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _next(self, most: int) -> bytes:
        while True:
            if self._xz.eof:
                self._ahead = self._xz.unused_data or self._raw.read(CHUNK_BYTES)
                self._ahead = self._ahead.lstrip(b"\0")
                if not self._ahead:
                    return b""
                self._xz = lzma.LZMADecompressor(lzma.FORMAT_XZ, XZ_MEMORY_BYTES)
            elif self._xz.needs_input and not self._ahead:
                self._ahead = self._raw.read(CHUNK_BYTES)
                if not self._ahead:
                    raise EOFError("it ends too early")
            given, self._ahead = self._ahead, b""
            data = self._xz.decompress(given, most)
            if data:
                return data

    def close(self) -> None:
        self._raw.close()
        super().close()


class Metered(io.BufferedIOBase):
    """What tarfile reads from: counts what comes out, and only goes forward."""

    def __init__(self, stream: io.BufferedIOBase, intake: Intake) -> None:
        self._stream = stream
        self._bounds = intake.bounds
        self._packed = intake.packed_bytes
        self._at = 0
        self.in_file = False
        """Whether a file is read, and not a header."""
        self._spare = (self._bounds.files + 20) * BLOCKS_PER_FILE * BLOCK_BYTES

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        if self.in_file:
            return self._pull(min(size or 0, CHUNK_BYTES))
        if size is None or not 0 <= size <= MAX_HEADER_BYTES:
            raise Refused("The tar has a header that is too large: pack it again.")
        header = self._pull(size)
        if DIGITS.search(header):
            raise tarfile.ReadError("a header holds nothing but digits")
        return header

    def seek(self, position: int, whence: int = io.SEEK_SET) -> int:
        """Skips by reading, so that what is skipped counts too."""
        if whence != io.SEEK_SET or position < self._at:
            raise tarfile.ReadError("its parts don't follow each other")
        while self._at < position and self._pull(min(CHUNK_BYTES, position - self._at)):
            pass
        return self._at

    def _pull(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._at += len(data)
        self._bounds.check_bytes(max(0, self._at - self._spare), self._packed)
        return data


def take_member(
    tar: tarfile.TarFile, member: tarfile.TarInfo, meter: Metered, intake: Intake
) -> None:
    name = member.name
    if member.issparse():
        raise Refused(
            f"The tar's file {shown(name)} is a sparse one: pack it without --sparse."
        )
    if member.isdir():
        intake.add_directory(name)
    elif member.issym() or member.islnk():
        intake.add_link(name, member.linkname, from_root=member.islnk())
    elif member.isreg():
        intake.add_file(
            name, chunks_of(tar, member, meter), executable=bool(member.mode & 0o100)
        )
    else:
        raise Refused(f"The tar's entry {shown(name)} is a device, pipe or the like.")


def chunks_of(tar: tarfile.TarFile, member: tarfile.TarInfo, meter: Metered) -> Iterator[bytes]:
    file = tar.extractfile(member)
    assert file is not None
    meter.in_file = True
    try:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk
    finally:
        meter.in_file = False
