"""The file format of backups: a tar stream with a manifest that shows whether it is complete.

```
database/000000 …     output of pg_dump, in chunks
secret.key            the installation's secret key
artifacts/…           sources, test data, judgements
manifest.json         last: without it the file is cut short
```
"""

import hashlib
import io
import json
import re
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Final

from deemster.domain.errors import Refused

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
DATABASE: Final = "database/"
ARTIFACTS: Final = "artifacts/"
SECRET: Final = "secret.key"  # noqa: S105 - a file's name
NAME: Final = re.compile(r"secret\.key|database/[0-9]{6}|artifacts(/[a-z0-9][a-z0-9._-]*)+")
CHUNK_BYTES: Final = 1 << 20
MANIFEST_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Manifest:
    format: int
    deemster: str
    """Version of Deemster that wrote it."""
    tables: int
    """Number of the last migration of its database."""
    members: int
    bytes: int
    digest: str
    """Digest of the names and contents of all members, in order."""


class StreamDigest:
    """Counts and hashes members; the writer and the reader must get the same."""

    def __init__(self) -> None:
        self.members = 0
        self.bytes = 0
        self._hash = hashlib.sha256()

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def begin(self, name: str, size_bytes: int) -> None:
        self.members += 1
        self._hash.update(f"{name}\0{size_bytes}\0".encode())

    def add(self, chunk: bytes) -> None:
        self.bytes += len(chunk)
        self._hash.update(chunk)


class Writer:
    def __init__(self, tar: tarfile.TarFile) -> None:
        self.count = StreamDigest()
        self._tar = tar

    @classmethod
    @contextmanager
    def open(cls, file: IO[bytes]) -> Iterator["Writer"]:
        with tarfile.open(fileobj=file, mode="w|", format=tarfile.PAX_FORMAT) as tar:
            yield cls(tar)

    def add(self, name: str, chunks: Iterable[bytes], size_bytes: int) -> None:
        """`size_bytes` is the size of all chunks together."""
        self.count.begin(name, size_bytes)
        header = tarfile.TarInfo(name)
        header.size, header.mode = size_bytes, 0o600
        self._tar.addfile(header, ChunkReader(chunks, self.count))  # type: ignore[arg-type]

    def finish(self, deemster: str, tables: int) -> Manifest:
        count = self.count
        manifest = Manifest(FORMAT, deemster, tables, count.members, count.bytes, count.digest)
        text = json.dumps(asdict(manifest)).encode()
        header = tarfile.TarInfo(MANIFEST)
        header.size, header.mode = len(text), 0o600
        self._tar.addfile(header, io.BytesIO(text))
        return manifest


class ChunkReader:
    """A file-like object over chunks, for tarfile."""

    def __init__(self, chunks: Iterable[bytes], count: StreamDigest) -> None:
        self._chunks = iter(chunks)
        self._count = count
        self._rest = b""

    def read(self, size_bytes: int) -> bytes:
        while len(self._rest) < size_bytes:
            chunk = next(self._chunks, b"")
            if not chunk:
                break
            self._rest += chunk
        taken, self._rest = self._rest[:size_bytes], self._rest[size_bytes:]
        self._count.add(taken)
        return taken


@dataclass(frozen=True, slots=True)
class Member:
    name: str
    size_bytes: int
    chunks: Iterator[bytes]
    """Read these before the next member."""


class Reader:
    """Reads a backup as a stream; `check` then tells whether it was complete."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.count = StreamDigest()
        self.manifest: Manifest | None = None

    def members(self) -> Iterator[Member]:
        with (
            self._errors_as_refused(),
            self._path.open("rb") as file,
            tarfile.open(fileobj=file, mode="r|") as tar,
        ):
            yield from self._members(tar)
        if self.manifest is None:
            raise self._damaged("it is cut short")

    def check(self) -> Manifest:
        """Call it after the last member."""
        manifest, count = self.manifest, self.count
        assert manifest is not None
        if (manifest.members, manifest.bytes) != (count.members, count.bytes):
            raise self._damaged("parts are missing")
        if manifest.digest != count.digest:
            raise self._damaged("its content has changed")
        return manifest

    def _members(self, tar: tarfile.TarFile) -> Iterator[Member]:
        for header in tar:
            content = tar.extractfile(header) if header.isreg() else None
            if self.manifest is not None or content is None:
                raise self._damaged(f"{header.name[:80]!r} does not belong there")
            if header.name == MANIFEST:
                self.manifest = self._read_manifest(content.read(MANIFEST_BYTES))
                continue
            if not NAME.fullmatch(header.name):
                raise self._damaged(f"{header.name[:80]!r} does not belong there")
            self.count.begin(header.name, header.size)
            chunks = self._counted(content)
            yield Member(header.name, header.size, chunks)
            for _ in chunks:  # the caller may not have read all
                pass

    def _counted(self, content: IO[bytes]) -> Iterator[bytes]:
        while True:
            with self._errors_as_refused():
                chunk = content.read(CHUNK_BYTES)
            if not chunk:
                return
            self.count.add(chunk)
            yield chunk

    def _read_manifest(self, text: bytes) -> Manifest:
        try:
            values = json.loads(text)
            if values["format"] != FORMAT:
                raise Refused(
                    f"{self._path} was made by another version of Deemster "
                    f"({values['deemster']}): restore it with that one."
                )
            return Manifest(**values)
        except (ValueError, KeyError, TypeError) as fault:
            raise self._damaged("its manifest can't be read") from fault

    @contextmanager
    def _errors_as_refused(self) -> Iterator[None]:
        try:
            yield
        except (tarfile.TarError, EOFError, UnicodeDecodeError) as fault:
            raise self._damaged(str(fault)) from fault
        except OSError as fault:
            raise Refused(f"{self._path} can't be read ({fault.strerror or fault}).") from fault

    def _damaged(self, why: str) -> Refused:
        return Refused(
            f"{self._path} is not a backup, or it is damaged ({why}): use another copy of it."
        )
