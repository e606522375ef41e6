"""Puts and gets artifacts, by what they hold or by a name of ours, within bounded time."""

import asyncio
import hashlib
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event
from typing import BinaryIO, TypeVar

from deemster.domain.errors import Unavailable
from deemster.domain.limits import MIB
from deemster.store.artifacts.backend import (
    CHUNK_BYTES,
    CONTENT,
    ArtifactBackend,
    ArtifactDamaged,
    ArtifactEntry,
    ArtifactMissing,
    checked,
    content_name,
)
from deemster.store.artifacts.files import FileBackend
from deemster.store.artifacts.s3 import S3Backend, parse_address

T = TypeVar("T")
Keep = Callable[[Sequence[str]], Awaitable[Iterable[str]]]
"""Of some digests, those that are still referred to."""

THREADS = 8
SLOWEST_BYTES_S = MIB
"""A store that is slower is as good as down."""
LARGE_BYTES = 256 * MIB
"""As much as an artifact whose size isn't known yet is given time for."""


class Artifacts:
    """For all tasks of a process; its threads are its own, so that one that hangs is alone."""

    def __init__(
        self,
        depot: ArtifactBackend,
        patience_s: float = 20,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._depot = depot
        self._patience_s = patience_s
        self._clock = clock
        self._threads = ThreadPoolExecutor(THREADS, "artifacts")

    @classmethod
    def open(cls, url: str | None, data_dir: Path, *, patience_s: float = 20) -> "Artifacts":
        """Without a URL in files below `data_dir`; nothing is touched or asked for yet."""
        if url is None:
            return cls(FileBackend(data_dir / "artifacts"), patience_s)
        return cls(S3Backend(parse_address(url), patience_s), patience_s)

    # ---- by content ----

    async def put(self, content: bytes) -> str:
        """Its digest. It is written even if it is there: that mends it, and makes it young."""

        def write(stop: Event) -> str:
            digest = hashlib.sha256(content).hexdigest()
            chunks = stoppable(slices_of(content), stop)
            self._depot.write(content_name(digest), chunks, len(content))
            return digest

        return await self._run(write, len(content))

    async def get(self, digest: str) -> bytes:
        name = content_name(digest)

        def read(stop: Event) -> bytes:
            content = b"".join(stoppable(self._depot.read(name), stop))
            if hashlib.sha256(content).hexdigest() != digest:
                raise ArtifactDamaged(f"The artifact {digest} is damaged in its store.")
            return content

        return await self._run(read, LARGE_BYTES)

    async def exists(self, digest: str) -> bool:
        return await self.find(content_name(digest)) is not None

    async def delete(self, digest: str) -> None:
        await self.delete_file(content_name(digest))

    # ---- by name ----

    async def put_file(self, path: Path, name: str) -> None:
        """Replaces what has that name."""
        checked(name)
        size_bytes = (await asyncio.to_thread(path.stat)).st_size

        def write(stop: Event) -> None:
            with path.open("rb") as file:
                self._depot.write(name, stoppable(chunks_of(file), stop), size_bytes)

        await self._run(write, size_bytes)

    async def get_file(self, name: str, target: Path, max_bytes: int) -> None:
        """Into a new file, for our eyes only; what is left of a failure is the caller's."""
        found = await self.find(name)
        if found is None:
            raise ArtifactMissing(
                f"There is no artifact {name}: it was removed, or never kept."
            )
        if found.size_bytes > max_bytes:
            raise Unavailable(
                f"The artifact {name} holds {found.size_bytes:,} bytes, and no more than "
                f"{max_bytes:,} are taken here."
            )

        def read(stop: Event) -> None:
            chunks = stoppable(self._depot.read(name), stop)
            write_file(target, bounded(chunks, found.size_bytes, name))

        await self._run(read, found.size_bytes)

    async def find(self, name: str) -> ArtifactEntry | None:
        checked(name)
        return await self._run(lambda _: self._depot.find(name))

    async def age_s(self, name: str) -> float | None:
        """Since it was written; None: it is not there."""
        found = await self.find(name)
        return None if found is None else self._clock() - found.modified_s

    async def delete_file(self, name: str) -> None:
        checked(name)
        await self._run(lambda _: self._depot.remove(name))

    # ---- all ----

    async def ping(self) -> None:
        """Raises `Unavailable` unless artifacts can be put and got."""
        await self._run(lambda _: self._depot.ping())

    async def sweep(self, keep: Keep, older_than_s: float, folder: str = CONTENT) -> int:
        """Removes what nobody refers to any more; how many.

        Whoever puts an artifact has `older_than_s` to write down that it is needed.
        """
        before_s = self._clock() - older_than_s
        await self._run(lambda _: self._depot.tidy())
        batches = self._depot.list(folder)
        removed = 0
        while (batch := await self._run(lambda _: next(batches, None))) is not None:
            old = {digest_of(each): each.name for each in batch if each.modified_s < before_s}
            kept = set(await keep(list(old))) if old else set()
            for digest, name in old.items():
                if digest not in kept:
                    removed += await self._run(partial(self._remove, name, before_s))
        return removed

    def _remove(self, name: str, before_s: float, _: Event) -> bool:
        return self._depot.remove(name, before_s)

    async def _run(self, work: Callable[[Event], T], size_bytes: int = 0) -> T:
        """In a thread, which is told to stop when nobody waits for it any more."""
        stop = Event()
        limit_s = 2 * self._patience_s + size_bytes / SLOWEST_BYTES_S
        try:
            async with asyncio.timeout(limit_s):
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(self._threads, work, stop)
        except TimeoutError:
            raise Unavailable(
                f"The artifact store was not done within {limit_s:,.0f} s: see whether it is "
                "up, and how busy it is."
            ) from None
        finally:
            stop.set()


def digest_of(entry: ArtifactEntry) -> str:
    return entry.name.rpartition("/")[2].partition(".")[0]


def stoppable(chunks: Iterable[bytes], stop: Event) -> Iterator[bytes]:
    for chunk in chunks:
        if stop.is_set():
            raise Unavailable("Nobody waits for this artifact any more.")
        yield chunk


def bounded(chunks: Iterable[bytes], size_bytes: int, name: str) -> Iterator[bytes]:
    """As much as was announced, or it is damaged."""
    left = size_bytes
    for chunk in chunks:
        left -= len(chunk)
        if left < 0:
            break
        yield chunk
    if left:
        raise ArtifactDamaged(f"The artifact {name} isn't as large as its store says it is.")


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
            f"An artifact can't be written to {target} ({fault.strerror}): make room there."
        ) from fault
