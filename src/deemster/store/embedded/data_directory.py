"""The directory DATA_DIR/postgres and the two locks that keep a second server out of it.

The process that runs the cluster holds `supervisor.lock`, which contains its pid. The server
and its children inherit `server.lock`, so it is held while any of them lives, even if their
supervisor was killed.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.store.embedded.database_user import DatabaseUser, find_database_user
from deemster.store.embedded.endpoint import make_directory
from deemster.store.embedded.programs import MAJOR


@dataclass(frozen=True, slots=True)
class ClusterHome:
    path: Path
    owner: DatabaseUser
    socket: Path

    @property
    def cluster(self) -> Path:
        return self.path / "cluster"

    @property
    def new_cluster(self) -> Path:
        """initdb writes here; then it is renamed to the cluster."""
        return self.path / "cluster.new"

    @property
    def log(self) -> Path:
        return self.path / "log"


@contextmanager
def lock_home(data_dir: Path) -> Iterator[ClusterHome]:
    path = data_dir.resolve() / "postgres"
    try:
        path.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == path.stat().st_uid:
            # The server's user may enter its own subdirectory, and change nothing else here.
            path.chmod(0o700 if os.geteuid() else 0o711)
        lock = open_lock(path / "supervisor.lock")
    except OSError as fault:
        raise Refused(
            f"The database directory {path} can't be used ({fault.strerror}): fix that, or"
            " name another data directory."
        ) from fault
    with os.fdopen(lock):
        write_holder(lock, path)
        owner = find_database_user(path / "cluster")
        check_version(path / "cluster")
        yield ClusterHome(path, owner, make_directory(path, owner))


def write_holder(lock: int, path: Path) -> None:
    if not try_lock(lock):
        holder = os.pread(lock, 20, 0).decode().strip() or "unknown"
        raise Refused(
            f"Another Deemster (process {holder}) runs the database in {path}: stop that one"
            " first, or use another data directory."
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
            f"{cluster} contains no database (PG_VERSION is missing): restore a backup,"
            " or move the directory away to start with an empty database."
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


def make_new_cluster(home: ClusterHome) -> None:
    """Makes an empty directory for initdb; removes what a killed one has left."""
    if home.new_cluster.exists():
        shutil.rmtree(home.new_cluster)
    home.new_cluster.mkdir(mode=0o700)
    os.lchown(home.new_cluster, home.owner.uid, home.owner.gid)


def finish_cluster(home: ClusterHome) -> None:
    home.new_cluster.rename(home.cluster)
    directory = os.open(home.path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
