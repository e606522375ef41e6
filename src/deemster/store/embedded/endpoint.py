"""The directory of the server's socket, and the URL of the database."""

import os
import shutil
import socket
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from deemster.domain.errors import Refused
from deemster.store.embedded.database_user import DatabaseUser

OWNER = DATABASE = "deemster"
"""The role that owns the database and its tables, for migrations and backups."""
APPLICATION = "deemster_app"
"""The role of the service, which owns only the schemas of the queue."""
FILE = ".s.PGSQL.5432"
MAX_PATH_BYTES = 107
"""The kernel's limit for the path of a socket."""


def url_of(directory: Path, database: str = DATABASE, role: str = OWNER) -> str:
    # With the port: clients would use PGPORT otherwise.
    return f"postgresql://{role}@/{database}?host={quote(str(directory), safe='/')}&port=5432"


def running_url(data_dir: Path, role: str = OWNER) -> str | None:
    """Returns the URL of the server that runs on this data directory; None: none runs."""
    path = data_dir.resolve() / "postgres" / "socket"
    try:
        directory = path.readlink() if path.is_symlink() else path
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(5)
            probe.connect(str(directory / FILE))
    except PermissionError as fault:
        raise Refused(
            f"The database in {path.parent} is another user's: run this command as root or as"
            " the user who started Deemster."
        ) from fault
    except OSError:
        return None
    return url_of(directory, role=role)


def make_directory(home: Path, owner: DatabaseUser) -> Path:
    """Makes a directory for the socket that only its owner and root may enter.

    It is `socket` in the home. If that path is too long, `socket` is a link to a directory with
    a shorter path.
    """
    path = home / "socket"
    current = path.readlink() if path.is_symlink() else path
    if fits(current) and is_private(current, owner):
        return current
    if path.is_symlink():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path)
    if fits(path):
        path.mkdir(mode=0o700)
        os.lchown(path, owner.uid, owner.gid)
        return path
    shorter = Path(tempfile.mkdtemp(prefix="pg-", dir=short_parent()))
    os.lchown(shorter, owner.uid, owner.gid)
    path.symlink_to(shorter)
    return shorter


def remove_directory(home: Path, directory: Path) -> None:
    """Removes a directory with a shorter path, and what a killed server has left in it."""
    if directory == home / "socket":
        return
    with suppress(OSError):
        for name in (FILE, f"{FILE}.lock"):
            (directory / name).unlink(missing_ok=True)
        directory.rmdir()
        (home / "socket").unlink()


def fits(directory: Path) -> bool:
    # Clients split host names at commas.
    return len(os.fsencode(directory / FILE)) <= MAX_PATH_BYTES and "," not in str(directory)


def short_parent() -> Path:
    uid = os.geteuid()
    path = Path(f"/run/user/{uid}" if uid else "/run/deemster")
    with suppress(OSError):
        if uid == 0:
            path.mkdir(mode=0o755, exist_ok=True)
        if path.lstat().st_uid == uid and os.access(path, os.W_OK | os.X_OK):
            return path
    return Path("/tmp")  # noqa: S108 - only for mkdtemp, which makes a name of its own


def is_private(directory: Path, owner: DatabaseUser) -> bool:
    """Whether it is the directory that was made here, and not another user's."""
    try:
        found = directory.lstat()
    except OSError:
        return False
    mode = stat.S_IMODE(found.st_mode)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == owner.uid and mode == 0o700
