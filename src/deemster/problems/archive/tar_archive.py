"""Reads untrusted tar archives: plain or compressed by gzip, bzip2, xz or zstd."""

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
from deemster.problems.archive.names import shown
from deemster.problems.archive.writer import CHUNK_BYTES, PackageWriter

MAX_HEADER_BYTES = 64 * 1024
DIGITS = re.compile(rb"\d{100}")
"""Not in any valid header, and slow to parse in many versions of tarfile."""
BLOCK_BYTES = 512
BLOCKS_PER_FILE = 6
"""Header, long name with its header, attributes with their header, and padding."""
XZ_MEMORY_BYTES = 256 * MIB
DAMAGE = (tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, UnicodeError, ValueError)
"""Exceptions of the libraries for damaged archives, besides OSError."""


def read_tar(source: Path, magic: bytes, writer: PackageWriter) -> None:
    try:
        with open_stream(source, magic) as stream:
            reader = CountingReader(stream, writer)
            with tarfile.open(fileobj=reader, mode="r:") as tar:
                for member in tar:
                    read_member(tar, member, reader, writer)
    except (*DAMAGE, OSError) as fault:
        raise Refused(f"The tar {source.name} is damaged ({fault}): pack it again.") from fault


def open_stream(source: Path, magic: bytes) -> io.BufferedIOBase:
    if magic.startswith(b"\x1f\x8b"):
        return gzip.open(source)
    if magic.startswith(b"BZh"):
        return bz2.open(source)
    if magic.startswith(b"\xfd7zXZ"):
        return io.BufferedReader(XzStream(io.FileIO(source)), CHUNK_BYTES)
    if magic.startswith(b"\x28\xb5\x2f\xfd"):
        return open_zstd(source)
    return source.open("rb")


def open_zstd(source: Path) -> io.BufferedIOBase:
    if sys.version_info >= (3, 14):
        from compression import zstd  # noqa: PLC0415 - not there before

        return zstd.open(source)
    raise Refused(
        f"{source.name} is packed with zstd, which Python reads from 3.14 on: "
        "pack it with gzip or xz, or as a zip."
    )


class XzStream(io.RawIOBase):
    """Like `lzma.LZMAFile`, with a bound on the memory that an archive may need."""

    def __init__(self, raw: io.FileIO) -> None:
        self._raw = raw
        self._xz = lzma.LZMADecompressor(lzma.FORMAT_XZ, XZ_MEMORY_BYTES)
        self._pending = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        data = self._next(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _next(self, most: int) -> bytes:
        while True:
            if self._xz.eof:
                self._pending = self._xz.unused_data or self._raw.read(CHUNK_BYTES)
                self._pending = self._pending.lstrip(b"\0")
                if not self._pending:
                    return b""
                self._xz = lzma.LZMADecompressor(lzma.FORMAT_XZ, XZ_MEMORY_BYTES)
            elif self._xz.needs_input and not self._pending:
                self._pending = self._raw.read(CHUNK_BYTES)
                if not self._pending:
                    raise EOFError("it ends too early")
            given, self._pending = self._pending, b""
            data = self._xz.decompress(given, most)
            if data:
                return data

    def close(self) -> None:
        self._raw.close()
        super().close()


class CountingReader(io.BufferedIOBase):
    """The input of tarfile: counts the unpacked bytes and only moves forward."""

    def __init__(self, stream: io.BufferedIOBase, writer: PackageWriter) -> None:
        self._stream = stream
        self._bounds = writer.bounds
        self._packed = writer.packed_bytes
        self._at = 0
        self.in_file = False
        """Whether the content of a file is being read, not a header."""
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
            raise tarfile.ReadError("a header consists of digits")
        return header

    def seek(self, position: int, whence: int = io.SEEK_SET) -> int:
        """Reads what it skips, so that the skipped bytes count too."""
        if whence != io.SEEK_SET or position < self._at:
            raise tarfile.ReadError("its parts are not in order")
        while self._at < position and self._pull(min(CHUNK_BYTES, position - self._at)):
            pass
        return self._at

    def _pull(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._at += len(data)
        self._bounds.check_bytes(max(0, self._at - self._spare), self._packed)
        return data


def read_member(
    tar: tarfile.TarFile, member: tarfile.TarInfo, reader: CountingReader, writer: PackageWriter
) -> None:
    name = member.name
    if member.issparse():
        raise Refused(f"The file {shown(name)} in the tar is sparse: pack it without --sparse.")
    if member.isdir():
        writer.add_directory(name)
    elif member.issym() or member.islnk():
        writer.add_link(name, member.linkname, from_root=member.islnk())
    elif member.isreg():
        writer.add_file(
            name, chunks_of(tar, member, reader), executable=bool(member.mode & 0o100)
        )
    else:
        raise Refused(
            f"The tar's entry {shown(name)} is a device or a pipe: use plain files only."
        )


def chunks_of(
    tar: tarfile.TarFile, member: tarfile.TarInfo, reader: CountingReader
) -> Iterator[bytes]:
    file = tar.extractfile(member)
    assert file is not None
    reader.in_file = True
    try:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk
    finally:
        reader.in_file = False
