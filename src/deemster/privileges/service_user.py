"""Finds or creates the system user that runs the service when root starts it."""

import logging
import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deemster.domain.errors import Refused
from deemster.privileges.capabilities import Capability, held

logger = logging.getLogger(__name__)

NAME: Final = "deemster"
USERADD: Final = (
    *("useradd", "--system", "--user-group", "--no-create-home"),
    *("--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin", NAME),
)
SYSTEM_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
FALLBACK_ID: Final = 1_899_999_999
"""Uid and gid where no user can be created. No package and no box uses this number."""


@dataclass(frozen=True, slots=True)
class ServiceUser:
    name: str
    uid: int
    gid: int


def can_change_user() -> bool:
    """Whether this is real root: root of a user namespace often has no other ids."""
    if os.geteuid() != 0 or not {Capability.SETUID, Capability.SETGID} <= held():
        return False
    return all(maps_id(Path(f"/proc/self/{kind}_map"), FALLBACK_ID) for kind in ("uid", "gid"))


def maps_id(path: Path, number: int) -> bool:
    lines = (map(int, line.split()) for line in path.read_text().splitlines())
    return any(inside <= number < inside + count for inside, _, count in lines)


def find_service_user() -> ServiceUser:
    """Returns the user `deemster`, who is created if missing, or else a number of our own."""
    return user_by_name(NAME) or create_user() or ServiceUser(NAME, FALLBACK_ID, FALLBACK_ID)


def user_by_name(name: str) -> ServiceUser | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    if entry.pw_uid == 0:
        raise Refused(
            f"The user {name} has the uid 0, which is root: remove that user, and Deemster "
            "creates one that is not."
        )
    return ServiceUser(name, entry.pw_uid, entry.pw_gid)


def create_user() -> ServiceUser | None:
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
    found = user_by_name(NAME)
    if found is None:
        logger.warning(
            "the system user %s can't be created (%s): the uid %d is used instead",
            *(NAME, reason, FALLBACK_ID),
        )
    else:
        logger.info("created the system user %s, which runs the service", NAME)
    return found
