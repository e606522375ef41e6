"""DATA_DIR/postgres: what lies there, and whose it is at the moment.

Two locks. `supervisor.lock` is held by the process that runs the cluster and names it.
`server.lock` is inherited by the server and all its children: while any of them lives, it is
held, also when their supervisor was killed.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.store.embedded.database_user import Owner, owner_of
from deemster.store.embedded.endpoint import make_directory
from deemster.store.embedded.programs import MAJOR


@dataclass(frozen=True, slots=True)
class Home:
    path: Path
    owner: Owner
    socket: Path

    @property
    def cluster(self) -> Path:
        return self.path / "cluster"

    @property
    def half_made(self) -> Path:
        """Where initdb works; it becomes the cluster in one step."""
        return self.path / "cluster.new"

    @property
    def log(self) -> Path:
        return self.path / "log"


@contextmanager
def claimed(data_dir: Path) -> Iterator[Home]:
    """The home, ours alone until the end."""
    path = data_dir.resolve() / "postgres"
    try:
        path.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == path.stat().st_uid:
            # The server's user may pass through to its own, and change nothing else here.
            path.chmod(0o700 if os.geteuid() else 0o711)
        lock = open_lock(path / "supervisor.lock")
    except OSError as fault:
        raise Refused(
            f"The directory {path}, where the database lies, can't be used"
            f" ({fault.strerror}): mend that, or give another data directory."
        ) from fault
    with os.fdopen(lock):
        claim(lock, path)
        owner = owner_of(path / "cluster")
        check_version(path / "cluster")
        yield Home(path, owner, make_directory(path, owner))


def claim(lock: int, path: Path) -> None:
    if not try_lock(lock):
        holder = os.pread(lock, 20, 0).decode().strip() or "of unknown number"
        raise Refused(
            f"Another Deemster (process {holder}) runs the database in {path}: stop that one"
            " first, or give this one another data directory."
        )
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)


def check_version(cluster: Path) -> None:
    file = cluster / "PG_VERSION"
    if not cluster.exists():
        return
    try:
        version = file.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        raise Refused(
            f"{cluster} holds no database (PG_VERSION is missing): restore it from a backup,"
            " or move the directory away to start anew."
        ) from None
    if version != str(MAJOR):
        raise Refused(
            f"The database in {cluster} was made by PostgreSQL {version}, and this Deemster"
            f" brings PostgreSQL {MAJOR}: make a dump with the Deemster that made it"
            " (`deemster backup`), move the directory away, and restore the dump here."
        )


def open_lock(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.open(path, flags, 0o600)


def try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def make_half(home: Home) -> None:
    """An empty directory for initdb, whatever a killed one has left."""
    if home.half_made.exists():
        shutil.rmtree(home.half_made)
    home.half_made.mkdir(mode=0o700)
    os.lchown(home.half_made, home.owner.uid, home.owner.gid)


def make_whole(home: Home) -> None:
    home.half_made.rename(home.cluster)
    directory = os.open(home.path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
