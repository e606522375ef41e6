"""Chooses the system user that runs the database server: Postgres refuses root."""

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
class DatabaseUser:
    name: str
    uid: int
    gid: int

    @property
    def is_current(self) -> bool:
        return self.uid == os.geteuid()


def find_database_user(cluster: Path) -> DatabaseUser:
    """Returns the owner of the cluster, or the user for a new one."""
    try:
        status = cluster.lstat()
    except FileNotFoundError:
        return user_by_id(os.geteuid(), os.getegid()) if os.geteuid() else system_user()
    if stat.S_ISLNK(status.st_mode):
        raise Refused(f"{cluster} is a link: move the whole data directory instead.")
    owner = user_by_id(status.st_uid, status.st_gid)
    if owner.uid == 0:
        raise Refused(
            f"The database in {cluster} belongs to root, and Postgres does not run as root:"
            f" change that with `chown -R postgres: {cluster}` (or to the user {OWN_USER})."
        )
    if os.geteuid() not in (0, owner.uid):
        raise Refused(
            f"The database in {cluster} belongs to the user {owner.name}: start Deemster as"
            " that user or as root, or use another data directory."
        )
    return owner


def user_by_id(uid: int, gid: int) -> DatabaseUser:
    try:
        return DatabaseUser(pwd.getpwuid(uid).pw_name, uid, gid)
    except KeyError:
        return DatabaseUser(str(uid), uid, gid)


def system_user() -> DatabaseUser:
    for name in ("postgres", OWN_USER):
        if (found := user_by_name(name)) is not None:
            return found
    return create_user()


def create_user() -> DatabaseUser:
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
    found = user_by_name(OWN_USER)
    if found is None:
        raise Refused(
            f"Postgres does not run as root, and the system user {OWN_USER} can't be created"
            f" ({reason}): create it by hand, or start Deemster as an ordinary user."
        )
    logger.info("created the system user %s, which runs the embedded Postgres", OWN_USER)
    return found


def user_by_name(name: str) -> DatabaseUser | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return DatabaseUser(name, entry.pw_uid, entry.pw_gid)
