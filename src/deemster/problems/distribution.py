"""Brings revisions through the artifact store to the machines that judge them (J9)."""

import asyncio
import fcntl
import os
import secrets
import tarfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from deemster.cache.single_flight import SingleFlight
from deemster.directory_store import remove
from deemster.domain.errors import Refused, Unavailable
from deemster.domain.limits import MIB
from deemster.locks import acquire, lock_current
from deemster.problems.archive.names import clean_name, is_tool_file, shown
from deemster.problems.archive.tar_archive import DIGITS
from deemster.problems.digest import files_of
from deemster.problems.revision import Revision, RevisionDamaged, RevisionMissing, RevisionStore
from deemster.store.artifacts import Artifacts
from deemster.store.artifacts.backend import ArtifactEntry

FOLDER = "revisions"
HEADERS_BYTES = 512 * MIB
"""Most bytes of headers in a tar with as many files as a package may have."""
DEFAULT_NAME = "problem"
YOUNG_S = 3600.0
"""An artifact that is younger is not uploaded again."""
POLL_S = 0.05
WAIT_S = 900.0


class RevisionDistributor:
    """The revisions of this machine, backed by those in the artifact store."""

    def __init__(self, artifacts: Artifacts, revisions: RevisionStore) -> None:
        self._artifacts = artifacts
        self._revisions = revisions
        self._downloads: SingleFlight[str, None] = SingleFlight()

    async def publish(self, revision: Revision) -> None:
        """Uploads the revision, so that every worker can fetch it."""
        name = tar_name(revision.digest)
        age_s = await self._artifacts.age_s(name)
        if age_s is not None and age_s < YOUNG_S:
            return
        await self._revisions.verify(revision.digest)
        async with (
            self._revisions.opened(revision.digest) as held,
            self._exclusive_directory(revision.digest) as place,
        ):
            tar = place / fresh_name()
            await asyncio.to_thread(pack, held.directory, tar)
            await self._artifacts.put_file(tar, name)

    async def find_package(self, digest: str) -> ArtifactEntry:
        """The tar of a published revision."""
        found = await self._artifacts.find(tar_name(digest))
        if found is None:
            raise Unavailable(
                f"The package of the revision {digest} is not in the artifact store: import it "
                "again."
            )
        return found

    def read_package(self, found: ArtifactEntry) -> AsyncIterator[bytes]:
        return self._artifacts.stream(found)

    @asynccontextmanager
    async def opened(self, digest: str) -> AsyncIterator[Revision]:
        """Holds a revision, which is fetched if it is not on this machine."""
        async with AsyncExitStack() as stack:
            while (revision := await self._present(stack, digest)) is None:
                await self._downloads.run(digest, lambda: self._fetch(stack, digest))
            yield revision

    async def _present(self, stack: AsyncExitStack, digest: str) -> Revision | None:
        try:
            return await stack.enter_async_context(self._revisions.opened(digest))
        except (RevisionMissing, RevisionDamaged):
            return None
        except OSError as fault:
            raise disk_fault(fault) from fault

    async def _fetch(self, stack: AsyncExitStack, digest: str) -> None:
        """Keeps the revision open in `stack`, so that it is not removed before it is used."""
        async with self._exclusive_directory(digest) as place:
            # Another process may have fetched it meanwhile.
            if await self._present(stack, digest) is None:
                tar = place / fresh_name()
                most = self._revisions.max_bytes + HEADERS_BYTES
                await self._artifacts.get_file(tar_name(digest), tar, most)
                await stack.enter_async_context(self._revisions.restored(tar, digest))

    @asynccontextmanager
    async def _exclusive_directory(self, digest: str) -> AsyncIterator[Path]:
        """A directory in which one process at a time packs or unpacks this revision.

        It is a staging directory, so that a sweep removes it if this process is killed.
        """
        try:
            path = await asyncio.to_thread(self._revisions.make_staging) / digest
            async with asyncio.timeout(WAIT_S):
                # Polled, because the lock may belong to another process.
                while (lock := await acquire(lambda: try_lock(path), release)) is None:  # noqa: ASYNC110
                    await asyncio.sleep(POLL_S)
        except TimeoutError:
            raise Unavailable(
                f"Another process has been fetching the revision {digest} for {WAIT_S:.0f} s: "
                "see the logs of the workers on this machine."
            ) from None
        except OSError as fault:
            raise disk_fault(fault) from fault
        try:
            yield path
        finally:
            remove(path, lock)


def tar_name(digest: str) -> str:
    return f"{FOLDER}/{digest}.tar"


def fresh_name() -> str:
    """Unique, because the thread of a cancelled task may still write to the last file."""
    return f"{secrets.token_hex(8)}.tar"


def pack(directory: Path, target: Path) -> None:
    """Writes a tar: sorted, without times and owners, so that it is reproducible."""
    top = DEFAULT_NAME if is_tool_file(directory.name) else directory.name
    try:
        with tarfile.open(target, "x:", format=tarfile.PAX_FORMAT) as tar:
            for name, path in sorted(files_of(directory)):
                add_to_tar(tar, packed_name(top, name), path)
    except OSError as fault:
        raise disk_fault(fault) from fault


def add_to_tar(tar: tarfile.TarFile, name: str, path: Path) -> None:
    header = tarfile.TarInfo(name)
    if path.is_dir():
        header.type, header.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(header)
        return
    with path.open("rb") as file:
        found = path.stat()
        header.size = found.st_size
        header.mode = 0o755 if found.st_mode & 0o100 else 0o644
        tar.addfile(header, file)


def packed_name(top: str, name: str) -> str:
    """A name that our own tar reader accepts; a zip may contain others."""
    packed = clean_name(f"{top}/{name}")
    if DIGITS.search(packed.encode()):
        raise Refused(
            f"The package has a file name with too many digits, {shown(name)}: shorten it."
        )
    return packed


def disk_fault(fault: OSError) -> Unavailable:
    return Unavailable(
        f"Revisions can't be written to the disk ({fault.strerror}): make room, or set "
        "DEEMSTER_DATA_DIR to another directory."
    )


def try_lock(path: Path) -> int | None:
    path.mkdir(mode=0o700, exist_ok=True)
    return lock_current(path, fcntl.LOCK_EX | fcntl.LOCK_NB)


def release(lock: int | None) -> None:
    if lock is not None:
        os.close(lock)
