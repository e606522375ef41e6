"""Brings revisions from where they are imported to where they are judged (J9)."""

import asyncio
import fcntl
import os
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from deemster.cache.single_flight import SingleFlight
from deemster.directory_store import remove
from deemster.domain.errors import Unavailable
from deemster.domain.limits import MIB
from deemster.locks import acquire, lock_current
from deemster.problems.pack import pack
from deemster.problems.revision import (
    Revision,
    RevisionDamaged,
    RevisionMissing,
    RevisionStore,
)
from deemster.store.artifacts import Artifacts, FindReferenced

FOLDER = "revisions"
HEADERS_BYTES = 512 * MIB
"""Of the most files that a package may have: what a tar holds beside their bytes."""
YOUNG_S = 3600.0
"""What was put that lately isn't put again."""
POLL_S = 0.05
WAIT_S = 900.0


class RevisionDistributor:
    """Revisions of this machine, and behind them those of the artifact store."""

    def __init__(self, artifacts: Artifacts, revisions: RevisionStore) -> None:
        self._artifacts = artifacts
        self._revisions = revisions
        self._downloads: SingleFlight[str, None] = SingleFlight()

    async def publish(self, revision: Revision) -> None:
        """When it returns, every worker can have the revision.

        Whoever publishes has an hour to write down that it is needed, before `sweep`
        may take it.
        """
        name = tar_name(revision.digest)
        age_s = await self._artifacts.age_s(name)
        if age_s is not None and age_s < YOUNG_S:
            return
        await self._revisions.verify(revision.digest)
        async with (
            self._revisions.opened(revision.digest) as held,
            self._place(revision.digest) as place,
        ):
            tar = place / fresh_name()
            await asyncio.to_thread(pack_on_disk, held.directory, tar)
            await self._artifacts.put_file(tar, name)

    @asynccontextmanager
    async def opened(self, digest: str) -> AsyncIterator[Revision]:
        """The revision, fetched if it isn't here; nobody removes it meanwhile."""
        async with AsyncExitStack() as stack:
            while (revision := await self._present(stack, digest)) is None:
                await self._downloads.run(digest, lambda: self._fetch(stack, digest))
            yield revision

    async def sweep(self, keep: FindReferenced, older_than_s: float) -> int:
        """Removes those from the artifact store that no row refers to; how many."""
        return await self._artifacts.sweep(keep, max(older_than_s, 2 * YOUNG_S), FOLDER)

    async def _present(self, stack: AsyncExitStack, digest: str) -> Revision | None:
        try:
            return await stack.enter_async_context(self._revisions.opened(digest))
        except (RevisionMissing, RevisionDamaged):
            return None
        except OSError as fault:
            raise no_room(fault) from fault

    async def _fetch(self, stack: AsyncExitStack, digest: str) -> None:
        """Keeps the revision open in `stack`, so that it is not removed before it is used."""
        async with self._place(digest) as place:
            # Another process may have been quicker.
            if await self._present(stack, digest) is None:
                tar = place / fresh_name()
                most = self._revisions.max_bytes + HEADERS_BYTES
                await self._artifacts.get_file(tar_name(digest), tar, most)
                await stack.enter_async_context(self._revisions.restored(tar, digest))

    @asynccontextmanager
    async def _place(self, digest: str) -> AsyncIterator[Path]:
        """A directory where one process at a time brings or takes this revision.

        It lies where the store sweeps what has no lock, so a killed process leaves nothing.
        """
        try:
            path = await asyncio.to_thread(self._revisions.make_staging) / digest
            async with asyncio.timeout(WAIT_S):
                # Whoever has it may be another process, which sets no event of ours.
                while (lock := await acquire(lambda: try_lock(path), release)) is None:  # noqa: ASYNC110
                    await asyncio.sleep(POLL_S)
        except TimeoutError:
            raise Unavailable(
                f"Another process has been fetching the revision {digest} for too long: see "
                "what holds it up."
            ) from None
        except OSError as fault:
            raise no_room(fault) from fault
        try:
            yield path
        finally:
            remove(path, lock)


def tar_name(digest: str) -> str:
    return f"{FOLDER}/{digest}.tar"


def fresh_name() -> str:
    """A thread whose task was cancelled may still be writing to the last one's."""
    return f"{secrets.token_hex(8)}.tar"


def pack_on_disk(directory: Path, tar: Path) -> None:
    try:
        pack(directory, tar)
    except OSError as fault:
        raise no_room(fault) from fault


def no_room(fault: OSError) -> Unavailable:
    return Unavailable(
        f"Revisions can't be brought here ({fault.strerror}): make room, or name another place "
        "with DEEMSTER_DATA_DIR."
    )


def try_lock(path: Path) -> int | None:
    path.mkdir(mode=0o700, exist_ok=True)
    return lock_current(path, fcntl.LOCK_EX | fcntl.LOCK_NB)


def release(lock: int | None) -> None:
    if lock is not None:
        os.close(lock)
