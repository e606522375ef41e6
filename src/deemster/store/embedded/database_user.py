"""Chooses the system user that runs the database server: Postgres refuses root."""

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.privileges.service_user import NAME, find_service_user


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
            f" change that with `chown -R {NAME}: {cluster}`."
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
    """Not the user `postgres`, whom the database server of the system may use."""
    user = find_service_user()
    return DatabaseUser(user.name, user.uid, user.gid)
