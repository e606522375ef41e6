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
import fcntl
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from errno import EEXIST, ENOTEMPTY
from pathlib import Path

from deemster.cache.ttl import TtlCache
from deemster.domain.errors import NotFound, Refused, Unavailable
from deemster.domain.limits import MIB
from deemster.domain.problem import Problem
from deemster.locks import acquire, lock_directory, locked
from deemster.problems.archive import Bounds, Unpacked, unpack
from deemster.problems.digest import measure, seal, unseal
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
        return [path.name for path in reversed(await asyncio.to_thread(self._by_last_use))]

    # ---- opening ----

    def _open(self, digest: str) -> Held:
        if not DIGEST.fullmatch(digest):
            raise Refused(
                f"{digest[:80]!r} names no revision: it is 64 digits, 0 to 9, a to f."
            )
        lock = self._lock_present(digest)
        if lock is None:
            raise RevisionMissing(f"There is no revision {digest}: import its package again.")
        try:
            return Held(self._sound_revision(digest), lock)
        except BaseException:
            os.close(lock)
            raise

    def _lock_present(self, digest: str) -> int | None:
        """A shared lock, if what has that name still has it when the lock is there."""
        path = self._root / digest
        while True:
            try:
                lock = lock_directory(path, fcntl.LOCK_SH)
            except FileNotFoundError:
                return None
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock), path.stat()):
                    os.utime(path)
                    return lock
            os.close(lock)

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
            self._sweep()
            with self._place() as place:
                held = self._make(path, place, digest)
            self._evict()
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
        lock = self._publish(container, measured.digest, place)
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

    def _publish(self, container: Path, digest: str, place: Path) -> int:
        """A shared lock on the revision, be it this one or one that was there before."""
        for attempt in range(PUBLISH_TRIES):
            lock = lock_directory(container, fcntl.LOCK_SH)
            try:
                container.rename(self._root / digest)
            except OSError as fault:
                os.close(lock)
                if fault.errno not in {EEXIST, ENOTEMPTY}:
                    raise
            else:
                return lock
            present = self._lock_present(digest)
            if present is None:
                continue
            self._sound.forget(digest)
            if self._is_sound(digest):
                return present
            os.close(present)
            self._take_away(digest, place / f"damaged{attempt}")
        raise Unavailable(
            f"The revision {digest} is damaged on disk, and in use: stop what uses it, and "
            "import the package again."
        )

    # ---- removing ----

    def _evict(self) -> None:
        """Those that were used least lately go, until the rest has room."""
        with self._place() as place, locked(self._root, fcntl.LOCK_EX):
            oldest_first = {path: read_about(path) for path in self._by_last_use()}
            total = sum(about.size_bytes for about in oldest_first.values() if about)
            for path, about in oldest_first.items():
                # One that can't be read takes an unknown room, and is of no use.
                if about is not None and total <= self._max_bytes:
                    continue
                if self._take_away(path.name, place / path.name) and about is not None:
                    total -= about.size_bytes

    def _take_away(self, digest: str, target: Path) -> bool:
        """Moves a revision that nobody uses to where it will be removed."""
        path = self._root / digest
        try:
            with locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB) as lock:
                # Another one may have got the name between the opening and the lock.
                if not os.path.samestat(os.fstat(lock), path.stat()):
                    return False
                path.rename(target)
        except (BlockingIOError, FileNotFoundError):
            return False
        return True

    def _by_last_use(self) -> list[Path]:
        found = []
        with suppress(FileNotFoundError), os.scandir(self._root) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    if DIGEST.fullmatch(entry.name):
                        found.append((entry.stat().st_mtime_ns, Path(entry.path)))
        return [path for _, path in sorted(found)]

    # ---- staging ----

    def make_staging(self) -> Path:
        """For directories that are removed when nobody has a lock on them any more."""
        self._staging.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._root.chmod(0o700)
        return self._staging

    @asynccontextmanager
    async def place(self) -> AsyncIterator[Path]:
        """A directory of one's own, gone afterwards, also if this process is killed."""
        stack = ExitStack()
        path = await acquire(
            lambda: stack.enter_context(self._place()), lambda _: stack.close()
        )
        try:
            yield path
        finally:
            await asyncio.to_thread(stack.close)

    @contextmanager
    def _place(self) -> Iterator[Path]:
        """A directory of one's own, gone afterwards; its lock tells that it is in use."""
        self.make_staging()
        # A sweep waits for this lock, and so sees no directory that has no lock yet.
        with locked(self._staging, fcntl.LOCK_SH):
            place = Path(tempfile.mkdtemp(dir=self._staging))
            lock = lock_directory(place, fcntl.LOCK_SH)
        try:
            yield place
        finally:
            remove(place)
            os.close(lock)

    def _sweep(self) -> None:
        """Removes what killed processes left."""
        with (
            suppress(BlockingIOError, FileNotFoundError),
            locked(self._staging, fcntl.LOCK_EX | fcntl.LOCK_NB),
        ):
            for path in self._staging.iterdir():
                with suppress(OSError), locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB):
                    remove(path)


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


def remove(path: Path) -> None:
    with suppress(OSError):
        unseal(path)
    shutil.rmtree(path, ignore_errors=True)


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
