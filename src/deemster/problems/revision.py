"""Keeps each problem package as a read-only revision that is named by its content (J9).

```
root/                       mode 0700
  <digest>/                 locked while in use; its mtime is the time of the last use
    about.json              size and name of the package
    <name>/                 the package, read-only
  staging/                  revisions that are being imported or removed
```
"""

import asyncio
import json
import os
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from deemster.cache.ttl import TtlCache
from deemster.directory_store import DirectoryStore, create, remove, staged, sweep
from deemster.domain.errors import NotFound, Refused, Unavailable
from deemster.domain.limits import MIB
from deemster.domain.problem import Problem
from deemster.locks import acquire
from deemster.problems.archive import Bounds, Unpacked, unpack
from deemster.problems.digest import measure, seal
from deemster.problems.formats.detect import prepare, read_problem

DIGEST = re.compile(r"[0-9a-f]{64}")
ABOUT = "about.json"
STAGING = "staging"
PUBLISH_TRIES = 20
NAME_LENGTH = 64
KEPT_S = 3600.0
"""How long a process trusts a revision before it reads and checks it again (C3)."""
MAX_READ_PROBLEMS = 64
MAX_SOUND_REVISIONS = 10_000
PREPARED_FACTOR = 8
"""A prepared package may have more files and deeper directories than the uploaded one."""


class RevisionMissing(NotFound):
    """The revision is not on this machine."""


class RevisionDamaged(Unavailable):
    """The content of the revision does not match its digest."""


@dataclass(frozen=True, slots=True)
class Revision:
    digest: str
    directory: Path
    problem: Problem


OpenRevision = Callable[[str], AbstractAsyncContextManager[Revision]]
"""Holds the revision with the given digest."""


@dataclass(frozen=True, slots=True)
class HeldRevision:
    revision: Revision
    lock: int

    def release(self) -> None:
        os.close(self.lock)


@dataclass(frozen=True, slots=True)
class About:
    name: str
    size_bytes: int


class RevisionStore:
    """The revisions on one machine, shared by its processes."""

    def __init__(
        self,
        root: Path,
        max_bytes: int,
        bounds: Bounds | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._root = root
        self._staging = root / STAGING
        self._directories = DirectoryStore(root, self._staging, names=DIGEST.pattern)
        self._max_bytes = max_bytes
        self._bounds = bounds or Bounds()
        self._sound = TtlCache[bool](
            keep_s=KEPT_S, max_entries=MAX_SOUND_REVISIONS, clock=clock
        )
        """Digests of the revisions whose content this process has checked."""
        self._problems = TtlCache[Problem](
            keep_s=KEPT_S, max_entries=MAX_READ_PROBLEMS, clock=clock
        )
        """Problems that were read from their revisions, by digest."""

    @property
    def max_bytes(self) -> int:
        """Most bytes of all revisions together."""
        return self._max_bytes

    def imported(
        self, path: Path, *, skip_outside_links: bool = False
    ) -> AbstractAsyncContextManager[Revision]:
        """Imports a package and holds its revision, which may exist already.

        A link that leaves the package is refused, or left out with a warning in the problem.
        """
        return holding(lambda: self._import(path, skip_outside_links=skip_outside_links))

    def restored(self, path: Path, digest: str) -> AbstractAsyncContextManager[Revision]:
        """Unpacks a revision that `pack` packed, and holds it.

        It is not prepared again, because another version of Deemster may do that differently.
        """
        return holding(lambda: self._import(path, digest))

    def opened(self, digest: str) -> AbstractAsyncContextManager[Revision]:
        """Holds a revision that exists on this machine."""
        return holding(lambda: self._open(digest))

    async def import_package(self, path: Path) -> Revision:
        """Imports a package without holding its revision."""
        async with self.imported(path) as revision:
            return revision

    async def verify(self, digest: str) -> None:
        """Raises `RevisionDamaged` if the content no longer matches the digest."""
        self._sound.forget(digest)
        async with self.opened(digest):
            pass

    async def digests(self) -> list[str]:
        """All revisions, most recently used first."""
        paths = await asyncio.to_thread(self._directories.by_last_use)
        return [path.name for path in reversed(paths)]

    async def make_room(self, needed_bytes: int) -> bool:
        """Removes unused revisions until so many bytes more fit; False: the others are used."""

        def evict() -> int:
            self.make_staging()
            return self._directories.evict(max(0, self._max_bytes - needed_bytes), size_of)

        return await asyncio.to_thread(evict) + needed_bytes <= self._max_bytes

    # ---- opening ----

    def _open(self, digest: str) -> HeldRevision:
        if not DIGEST.fullmatch(digest):
            raise Refused(
                f"{digest[:80]!r} is not the digest of a revision: 64 digits, 0 to 9, a to f."
            )
        lock = self._directories.hold(digest)
        if lock is None:
            raise RevisionMissing(f"There is no revision {digest}: import its package again.")
        try:
            return HeldRevision(self._sound_revision(digest), lock)
        except BaseException:
            os.close(lock)
            raise

    def _is_sound(self, digest: str) -> bool:
        """Checks the content again after an hour, because a disk can fail."""
        if not self._sound.get(digest):
            about = read_about(self._root / digest)
            try:
                if about is None or measure(self._directory(digest)).digest != digest:
                    return False
            except OSError:
                return False
            self._sound.put(digest, True)
        return True

    def _sound_revision(self, digest: str) -> Revision:
        if not self._is_sound(digest):
            raise RevisionDamaged(
                f"The revision {digest} is damaged on disk: import its package again."
            )
        directory = self._directory(digest)
        problem = self._problems.get(digest)
        if problem is None:
            problem = read_problem(directory)
            self._problems.put(digest, problem)
        return Revision(digest, directory, problem)

    def _directory(self, digest: str) -> Path:
        about = read_about(self._root / digest)
        return self._root / digest / (about.name if about else "")

    # ---- importing ----

    def _import(
        self, path: Path, digest: str | None = None, *, skip_outside_links: bool = False
    ) -> HeldRevision:
        held = None
        try:
            sweep(self.make_staging())
            with staged(self._staging) as place:
                held = self._make(path, place, digest, skip_outside_links)
            self._directories.evict(self._max_bytes, size_of)
        except BaseException as fault:
            if held is not None:
                held.release()
            if isinstance(fault, OSError):
                raise Unavailable(
                    f"The package can't be written to {self._root} ({fault.strerror}): "
                    "make room there, or set DEEMSTER_DATA_DIR to another directory."
                ) from fault
            raise
        return held

    def _make(
        self, path: Path, place: Path, digest: str | None, skip_outside_links: bool
    ) -> HeldRevision:
        target, container = place / "unpacked", place / "revision"
        target.mkdir()
        container.mkdir(mode=0o700)
        warnings: tuple[str, ...] = ()
        if digest is None:
            unpacked = unpack(path, target, self._bounds, skip_outside_links=skip_outside_links)
            warnings = unpacked.warnings
            directory = move_unpacked(unpacked, container)
            prepare(directory, self._bounds)
            measured = measure(directory)
        else:
            directory = move_unpacked(self._unpack_tar(path, target, digest), container)
            measured = measure(directory)
            if measured.digest != digest:
                raise damaged_download(digest)
        problem = read_problem(directory)
        problem = replace(problem, warnings=(*warnings, *problem.warnings))
        if measured.size_bytes > self._max_bytes:
            # Another machine may have more room for an existing revision.
            raise (Refused if digest is None else Unavailable)(
                f"The package has {measured.size_bytes // MIB:,} MB, and all revisions "
                f"together may have {self._max_bytes // MIB:,}: raise DEEMSTER_REVISIONS_MB."
            )
        seal(directory)
        about = {"name": directory.name, "size_bytes": measured.size_bytes}
        (container / ABOUT).write_text(json.dumps(about), encoding="utf-8")
        lock = self._publish(container, measured.digest)
        self._sound.put(measured.digest, True)
        revision = Revision(measured.digest, self._directory(measured.digest), problem)
        return HeldRevision(revision, lock)

    def _unpack_tar(self, path: Path, target: Path, digest: str) -> Unpacked:
        """The bounds are wide, because they only guard against a damaged tar."""
        bounds = replace(
            self._bounds,
            total_bytes=path.stat().st_size,
            files=self._bounds.files * PREPARED_FACTOR,
            depth=self._bounds.depth * PREPARED_FACTOR,
        )
        try:
            return unpack(path, target, bounds)
        except Refused as fault:
            raise damaged_download(digest) from fault

    def _publish(self, container: Path, digest: str) -> int:
        """A shared lock on the revision, either the new one or an equal one from before."""
        for _ in range(PUBLISH_TRIES):
            lock = self._directories.publish(container, digest)
            if lock is not None:
                return lock
            present = self._directories.hold(digest)
            if present is None:
                continue
            self._sound.forget(digest)
            if self._is_sound(digest):
                return present
            os.close(present)
            self._directories.drop(digest)
        raise Unavailable(
            f"The revision {digest} is damaged on disk but in use: stop the workers that use "
            "it, and import the package again."
        )

    # ---- staging ----

    def make_staging(self) -> Path:
        """The directory whose subdirectories are removed when no process has a lock on them."""
        self._directories.create_directories()
        self._root.chmod(0o700)
        return self._staging

    @asynccontextmanager
    async def temporary_directory(self) -> AsyncIterator[Path]:
        """Removed afterwards, also if this process is killed."""
        path, lock = await acquire(
            lambda: create(self.make_staging()), lambda created: remove(*created)
        )
        try:
            yield path
        finally:
            await asyncio.to_thread(remove, path, lock)


@asynccontextmanager
async def holding(work: Callable[[], HeldRevision]) -> AsyncIterator[Revision]:
    """Keeps the revision from being removed."""
    held = await acquire(work, HeldRevision.release)
    try:
        yield held.revision
    finally:
        held.release()


def move_unpacked(unpacked: Unpacked, container: Path) -> Path:
    """Moves the unpacked package to its final directory name."""
    directory = container / plain_name(unpacked.name)
    unpacked.root.chmod(0o755)
    unpacked.root.rename(directory)
    return directory


def damaged_download(digest: str) -> RevisionDamaged:
    return RevisionDamaged(
        f"The revision {digest} was damaged during its download: try again; if that doesn't "
        "help, remove it from the artifact store, and import its package again."
    )


def size_of(container: Path) -> int | None:
    about = read_about(container)
    return about.size_bytes if about else None


def read_about(container: Path) -> About | None:
    """None: the file is missing or damaged."""
    try:
        values = json.loads((container / ABOUT).read_text(encoding="utf-8"))
        about = About(str(values["name"]), int(values["size_bytes"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return about if about.name == plain_name(about.name) else None


def plain_name(name: str) -> str:
    """The name of a package as a safe directory name."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-")[:NAME_LENGTH]
    return plain if plain and plain != ABOUT else "problem"
