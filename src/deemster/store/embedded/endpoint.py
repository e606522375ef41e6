"""Where the server's socket is, and the URL that leads there."""

import os
import shutil
import socket
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from deemster.domain.errors import Refused
from deemster.store.embedded.database_user import Owner

ROLE = DATABASE = "deemster"
FILE = ".s.PGSQL.5432"
LONGEST_BYTES = 107
"""Of a socket's path, by the kernel."""


def url_of(directory: Path, database: str = DATABASE) -> str:
    # The port too: without it clients would take PGPORT.
    return f"postgresql://{ROLE}@/{database}?host={quote(str(directory), safe='/')}&port=5432"


def running_url(data_dir: Path) -> str | None:
    """The URL of the server that runs on this data directory; None when none does."""
    place = data_dir.resolve() / "postgres" / "socket"
    try:
        directory = place.readlink() if place.is_symlink() else place
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(5)
            probe.connect(str(directory / FILE))
    except PermissionError as fault:
        raise Refused(
            f"The database in {place.parent} is another user's: run this command as root or as"
            " the user who started Deemster."
        ) from fault
    except OSError:
        return None
    return url_of(directory)


def make_directory(home: Path, owner: Owner) -> Path:
    """A directory for the socket that only its owner, and root, may enter.

    It is `socket` below the home. Where that path is too long, `socket` is a link to one
    elsewhere.
    """
    place = home / "socket"
    kept = place.readlink() if place.is_symlink() else place
    if fits(kept) and is_private(kept, owner):
        return kept
    if place.is_symlink():
        place.unlink()
    elif place.exists():
        shutil.rmtree(place)
    if fits(place):
        place.mkdir(mode=0o700)
        os.lchown(place, owner.uid, owner.gid)
        return place
    elsewhere = Path(tempfile.mkdtemp(prefix="pg-", dir=short_place()))
    os.lchown(elsewhere, owner.uid, owner.gid)
    place.symlink_to(elsewhere)
    return elsewhere


def remove_directory(home: Path, directory: Path) -> None:
    """Takes away one that was made elsewhere, with what a killed server has left in it."""
    if directory == home / "socket":
        return
    with suppress(OSError):
        for name in (FILE, f"{FILE}.lock"):
            (directory / name).unlink(missing_ok=True)
        directory.rmdir()
        (home / "socket").unlink()


def fits(directory: Path) -> bool:
    # Clients take a comma for the end of a host's name.
    return len(os.fsencode(directory / FILE)) <= LONGEST_BYTES and "," not in str(directory)


def short_place() -> Path:
    uid = os.geteuid()
    place = Path(f"/run/user/{uid}" if uid else "/run/deemster")
    with suppress(OSError):
        if uid == 0:
            place.mkdir(mode=0o755, exist_ok=True)
        if place.lstat().st_uid == uid and os.access(place, os.W_OK | os.X_OK):
            return place
    return Path("/tmp")  # noqa: S108 - only for mkdtemp, which makes a name of its own


def is_private(directory: Path, owner: Owner) -> bool:
    """Whether it is still what we made, not something that another user put there."""
    try:
        found = directory.lstat()
    except OSError:
        return False
    mode = stat.S_IMODE(found.st_mode)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == owner.uid and mode == 0o700
