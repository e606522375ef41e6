"""Puts and gets artifacts, by digest or by name, within a time limit."""

import asyncio
import hashlib
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import BinaryIO, TypeVar

from deemster.domain.errors import Unavailable
from deemster.domain.limits import MIB
from deemster.settings.artifact_directory import directory_in
from deemster.store.artifacts.backend import (
    CHUNK_BYTES,
    ArtifactBackend,
    ArtifactDamaged,
    ArtifactEntry,
    ArtifactMissing,
    check_name,
    content_name,
)
from deemster.store.artifacts.files import FileBackend
from deemster.store.artifacts.s3 import S3Backend, parse_address

T = TypeVar("T")

THREADS = 8
SLOWEST_BYTES_S = MIB
"""A slower store counts as down."""
LARGE_BYTES = 256 * MIB
"""Assumed size of an artifact whose size isn't known yet, for its time limit."""


class Artifacts:
    """Has threads of its own, so that a store that hangs delays nothing else."""

    def __init__(
        self,
        backend: ArtifactBackend,
        timeout_s: float = 20,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._backend = backend
        self._timeout_s = timeout_s
        self._clock = clock
        self._threads = ThreadPoolExecutor(THREADS, "artifacts")

    @classmethod
    def open(cls, url: str | None, data_dir: Path, *, timeout_s: float = 20) -> "Artifacts":
        """Without a URL, uses files below `data_dir`. Connects to nothing yet."""
        return cls(open_backend(url, data_dir, timeout_s), timeout_s)

    # ---- by content ----

    async def put(self, content: bytes) -> str:
        """Returns the digest. Writes even if it exists: that repairs it and renews its age."""

        def write(stop: Event) -> str:
            digest = hashlib.sha256(content).hexdigest()
            chunks = stoppable(slices_of(content), stop)
            self._backend.write(content_name(digest), chunks, len(content))
            return digest

        return await self._run(write, len(content))

    async def get(self, digest: str) -> bytes:
        name = content_name(digest)

        def read(stop: Event) -> bytes:
            content = b"".join(stoppable(self._backend.read(name), stop))
            if hashlib.sha256(content).hexdigest() != digest:
                raise ArtifactDamaged(f"The artifact {digest} is damaged in its store.")
            return content

        return await self._run(read, LARGE_BYTES)

    async def exists(self, digest: str) -> bool:
        return await self.find(content_name(digest)) is not None

    # ---- by name ----

    async def put_file(self, path: Path, name: str) -> None:
        """Replaces an artifact of that name."""
        check_name(name)
        size_bytes = (await asyncio.to_thread(path.stat)).st_size

        def write(stop: Event) -> None:
            with path.open("rb") as file:
                self._backend.write(name, stoppable(chunks_of(file), stop), size_bytes)

        await self._run(write, size_bytes)

    async def get_file(self, name: str, target: Path, max_bytes: int) -> None:
        """Writes to a new private file; after a failure the caller removes it."""
        found = await self.find(name)
        if found is None:
            raise ArtifactMissing(
                f"There is no artifact {name}: it was removed, or never stored."
            )
        if found.size_bytes > max_bytes:
            raise Unavailable(
                f"The artifact {name} has {found.size_bytes:,} bytes, and at most "
                f"{max_bytes:,} are allowed here."
            )

        def read(stop: Event) -> None:
            chunks = stoppable(self._backend.read(name), stop)
            write_file(target, bounded(chunks, found.size_bytes, name))

        await self._run(read, found.size_bytes)

    async def stream(self, found: ArtifactEntry) -> AsyncIterator[bytes]:
        """The content of an artifact in chunks; raises `Unavailable` if it is cut short."""
        chunks = bounded(self._backend.read(found.name), found.size_bytes, found.name)
        while chunk := await asyncio.to_thread(next, chunks, b""):
            yield chunk

    async def find(self, name: str) -> ArtifactEntry | None:
        check_name(name)
        return await self._run(lambda _: self._backend.find(name))

    async def age_s(self, name: str) -> float | None:
        """Time since it was written; None: there is no such artifact."""
        found = await self.find(name)
        return None if found is None else self._clock() - found.modified_s

    # ---- all ----

    async def ping(self) -> None:
        """Raises `Unavailable` unless artifacts can be put and got."""
        await self._run(lambda _: self._backend.ping())

    async def remove_partial_files(self) -> None:
        """Removes files that killed processes have left half written."""
        await self._run(lambda _: self._backend.remove_partial_files())

    async def _run(self, work: Callable[[Event], T], size_bytes: int = 0) -> T:
        """Runs the work in a thread, and stops it when the caller is gone."""
        stop = Event()
        limit_s = 2 * self._timeout_s + size_bytes / SLOWEST_BYTES_S
        try:
            async with asyncio.timeout(limit_s):
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(self._threads, work, stop)
        except TimeoutError:
            raise Unavailable(
                f"The artifact store did not finish within {limit_s:,.0f} s: check that it is "
                "up and not overloaded."
            ) from None
        finally:
            stop.set()


def open_backend(url: str | None, data_dir: Path, timeout_s: float) -> ArtifactBackend:
    directory = data_dir / "artifacts" if url is None else directory_in(url)
    if directory is not None:
        return FileBackend(directory)
    assert url is not None
    return S3Backend(parse_address(url), timeout_s)


def stoppable(chunks: Iterable[bytes], stop: Event) -> Iterator[bytes]:
    for chunk in chunks:
        if stop.is_set():
            raise Unavailable("The request for this artifact was cancelled.")
        yield chunk


def bounded(chunks: Iterable[bytes], size_bytes: int, name: str) -> Iterator[bytes]:
    """Raises `ArtifactDamaged` unless the chunks have that size together."""
    left = size_bytes
    for chunk in chunks:
        left -= len(chunk)
        if left < 0:
            break
        yield chunk
    if left:
        raise ArtifactDamaged(f"The artifact {name} is not as large as its store says.")


def slices_of(content: bytes) -> Iterator[bytes]:
    for start in range(0, len(content), CHUNK_BYTES):
        yield content[start : start + CHUNK_BYTES]


def chunks_of(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(CHUNK_BYTES):
        yield chunk


def write_file(target: Path, chunks: Iterable[bytes]) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(target, flags, 0o600), "wb") as file:
            file.writelines(chunks)
    except OSError as fault:
        raise Unavailable(
            f"An artifact can't be written to {target} ({fault.strerror}): free some space."
        ) from fault
