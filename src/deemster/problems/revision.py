"""Keeps packages as revisions that never change, named by content, held while in use (J9).

```
root/                       0700, ours alone
  <digest>/                 locked by whoever uses it; its time is that of the last use
    about.json              its size and name
    <name>/                 the package, sealed
  staging/                  what is being made or removed; swept when its owner is gone
```

A revision appears by one rename, and disappears by one. Whoever wants to remove one must get an
exclusive lock on it, which nobody gets while it is used.
"""

import asyncio
import json
import os
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
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
"""So long it is believed what a revision was found to be and to say (C3)."""
MOST_READ = 64
MOST_SOUND = 10_000
WIDER = 8
"""What is prepared may hold more files than its package did, and lie deeper."""


class RevisionMissing(NotFound):
    """It is not on this machine."""


class RevisionDamaged(Unavailable):
    """It is not what its name says."""


@dataclass(frozen=True, slots=True)
class Revision:
    digest: str
    directory: Path
    problem: Problem


@dataclass(frozen=True, slots=True)
class Held:
    revision: Revision
    lock: int

    def release(self) -> None:
        os.close(self.lock)


@dataclass(frozen=True, slots=True)
class About:
    name: str
    size_bytes: int


class RevisionStore:
    """For many processes at once, on one machine."""

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
        self._sound = TtlCache[bool](keep_s=KEPT_S, max_entries=MOST_SOUND, clock=clock)
        """Those whose content this process has seen to be theirs."""
        self._problems = TtlCache[Problem](keep_s=KEPT_S, max_entries=MOST_READ, clock=clock)
        """Read already: a revision says the same every time."""

    @property
    def max_bytes(self) -> int:
        """Most that all revisions together may hold."""
        return self._max_bytes

    @asynccontextmanager
    async def imported(self, path: Path) -> AsyncIterator[Revision]:
        """The revision of a package, made if it isn't there; nobody removes it meanwhile."""
        held = await acquire(lambda: self._import(path), Held.release)
        try:
            yield held.revision
        finally:
            held.release()

    @asynccontextmanager
    async def restored(self, path: Path, digest: str) -> AsyncIterator[Revision]:
        """One that was packed by `pack`. It is not prepared again, which another version of
        Deemster may do differently; it is what its name says, or refused."""
        held = await acquire(lambda: self._import(path, digest), Held.release)
        try:
            yield held.revision
        finally:
            held.release()

    async def import_package(self, path: Path) -> Revision:
        """Not held: whoever uses it later opens it by its digest."""
        async with self.imported(path) as revision:
            return revision

    @asynccontextmanager
    async def opened(self, digest: str) -> AsyncIterator[Revision]:
        """A revision that is there; nobody removes it meanwhile."""
        held = await acquire(lambda: self._open(digest), Held.release)
        try:
            yield held.revision
        finally:
            held.release()

    async def verify(self, digest: str) -> None:
        """Reads all of it again; says so if it is not what it was."""
        self._sound.forget(digest)
        async with self.opened(digest):
            pass

    async def digests(self) -> list[str]:
        """Of all that are there, the one used last first."""
        paths = await asyncio.to_thread(self._directories.by_last_use)
        return [path.name for path in reversed(paths)]

    # ---- opening ----

    def _open(self, digest: str) -> Held:
        if not DIGEST.fullmatch(digest):
            raise Refused(
                f"{digest[:80]!r} names no revision: it is 64 digits, 0 to 9, a to f."
            )
        lock = self._directories.hold(digest)
        if lock is None:
            raise RevisionMissing(f"There is no revision {digest}: import its package again.")
        try:
            return Held(self._sound_revision(digest), lock)
        except BaseException:
            os.close(lock)
            raise

    def _is_sound(self, digest: str) -> bool:
        """Looked at once an hour, if it is opened: it can't change, but a disk can fail."""
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

    def _import(self, path: Path, digest: str | None = None) -> Held:
        held = None
        try:
            sweep(self.make_staging())
            with staged(self._staging) as place:
                held = self._make(path, place, digest)
            self._directories.evict(self._max_bytes, size_of)
        except BaseException as fault:
            if held is not None:
                held.release()
            if isinstance(fault, OSError):
                raise Unavailable(
                    f"The package can't be kept in {self._root} ({fault.strerror}): "
                    "make room there, or name another place with DEEMSTER_DATA_DIR."
                ) from fault
            raise
        return held

    def _make(self, path: Path, place: Path, digest: str | None) -> Held:
        target, container = place / "unpacked", place / "revision"
        target.mkdir()
        container.mkdir(mode=0o700)
        if digest is None:
            directory = move(unpack(path, target, self._bounds), container)
            prepare(directory, self._bounds)
            measured = measure(directory)
        else:
            directory = move(self._unpack_packed(path, target, digest), container)
            measured = measure(directory)
            if measured.digest != digest:
                raise damaged_on_the_way(digest)
        problem = read_problem(directory)
        if measured.size_bytes > self._max_bytes:
            # Another machine may have more room for what was a revision already.
            raise (Refused if digest is None else Unavailable)(
                f"The package holds {measured.size_bytes // MIB:,} MB, and all revisions "
                f"together may hold {self._max_bytes // MIB:,}: raise DEEMSTER_REVISIONS_MB."
            )
        seal(directory)
        about = {"name": directory.name, "size_bytes": measured.size_bytes}
        (container / ABOUT).write_text(json.dumps(about), encoding="utf-8")
        lock = self._publish(container, measured.digest)
        self._sound.put(measured.digest, True)
        revision = Revision(measured.digest, self._directory(measured.digest), problem)
        return Held(revision, lock)

    def _unpack_packed(self, path: Path, target: Path, digest: str) -> Unpacked:
        """Its package was within bounds once; these are for what a damaged one might be."""
        bounds = replace(
            self._bounds,
            total_bytes=path.stat().st_size,
            files=self._bounds.files * WIDER,
            depth=self._bounds.depth * WIDER,
        )
        try:
            return unpack(path, target, bounds)
        except Refused as fault:
            raise damaged_on_the_way(digest) from fault

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
            f"The revision {digest} is damaged on disk, and in use: stop what uses it, and "
            "import the package again."
        )

    # ---- staging ----

    def make_staging(self) -> Path:
        """The directory whose subdirectories are removed when no process has a lock on them."""
        self._directories.create_directories()
        self._root.chmod(0o700)
        return self._staging

    @asynccontextmanager
    async def place(self) -> AsyncIterator[Path]:
        """A new directory, removed afterwards, also if this process is killed."""
        path, lock = await acquire(
            lambda: create(self.make_staging()), lambda created: remove(*created)
        )
        try:
            yield path
        finally:
            await asyncio.to_thread(remove, path, lock)


def move(unpacked: Unpacked, container: Path) -> Path:
    """What was unpacked, with a name that stays."""
    directory = container / plain_name(unpacked.name)
    unpacked.root.chmod(0o755)
    unpacked.root.rename(directory)
    return directory


def damaged_on_the_way(digest: str) -> RevisionDamaged:
    return RevisionDamaged(
        f"The revision {digest} was damaged on the way here: try again; if that doesn't help, "
        "remove it from the artifact store, and import its package again."
    )


def size_of(container: Path) -> int | None:
    about = read_about(container)
    return about.size_bytes if about else None


def read_about(container: Path) -> About | None:
    """None: it is damaged."""
    try:
        values = json.loads((container / ABOUT).read_text(encoding="utf-8"))
        about = About(str(values["name"]), int(values["size_bytes"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return about if about.name == plain_name(about.name) else None


def plain_name(name: str) -> str:
    """A package's name as a directory of ours."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-")[:NAME_LENGTH]
    return plain if plain and plain != ABOUT else "problem"
