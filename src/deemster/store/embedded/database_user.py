"""Which user runs the database server: never root, since Postgres refuses that."""

import logging
import os
import pwd
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

from deemster.domain.errors import Refused

logger = logging.getLogger(__name__)

OWN_USER = "deemster"
USERADD = ("useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", OWN_USER)
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Owner:
    name: str
    uid: int
    gid: int

    @property
    def is_me(self) -> bool:
        return self.uid == os.geteuid()


def owner_of(cluster: Path) -> Owner:
    """Who owns the cluster if there is one; otherwise who shall."""
    try:
        kept = cluster.lstat()
    except FileNotFoundError:
        return named_by_id(os.geteuid(), os.getegid()) if os.geteuid() else system_user()
    if stat.S_ISLNK(kept.st_mode):
        raise Refused(f"{cluster} is a link: move the whole data directory instead.")
    owner = named_by_id(kept.st_uid, kept.st_gid)
    if owner.uid == 0:
        raise Refused(
            f"The database in {cluster} belongs to root, and Postgres does not run as root:"
            f" give it back with `chown -R postgres: {cluster}` (or to the user {OWN_USER})."
        )
    if os.geteuid() not in (0, owner.uid):
        raise Refused(
            f"The database in {cluster} belongs to the user {owner.name}: start Deemster as"
            " that user or as root, or give it another data directory."
        )
    return owner


def named_by_id(uid: int, gid: int) -> Owner:
    try:
        return Owner(pwd.getpwuid(uid).pw_name, uid, gid)
    except KeyError:
        return Owner(str(uid), uid, gid)


def system_user() -> Owner:
    for name in ("postgres", OWN_USER):
        if (found := named(name)) is not None:
            return found
    return make_user()


def make_user() -> Owner:
    try:
        done = subprocess.run(
            USERADD,
            env={"PATH": SYSTEM_PATH},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        reason = done.stderr.strip()
    except (OSError, subprocess.TimeoutExpired) as fault:
        reason = str(fault)
    found = named(OWN_USER)
    if found is None:
        raise Refused(
            f"Postgres does not run as root, and the system user {OWN_USER} can't be made"
            f" ({reason}): make it by hand, or start Deemster as an ordinary user."
        )
    logger.info("made the system user %s, who runs the embedded Postgres", OWN_USER)
    return found


def named(name: str) -> Owner | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Owner(name, entry.pw_uid, entry.pw_gid)
