"""Gives the service's directories to the user that runs the service."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.privileges.capabilities import call
from deemster.privileges.service_user import ServiceUser

OUR_NAMES = frozenset(
    {"up.lock", "secret.key", "postgres", "logs", "artifacts", "spool", "core0"}
)
"""At least one of these is in a directory that Deemster used before."""
AT_EMPTY_PATH = 0x1000
OPEN_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def own_directory(path: Path, user: ServiceUser) -> None:
    """Creates a directory that only the user may enter, or gives one of root's to the user.

    If root owns it, all that is in it is given to the user: an earlier version of Deemster ran
    as root. Otherwise only what root has put directly into it.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        directory = os.open(path, OPEN_FLAGS)
    except OSError as fault:
        raise Refused(
            f"The directory {path} can't be used ({fault.strerror}): fix that, or name another."
        ) from fault
    try:
        status = os.fstat(directory)
        if status.st_mode & stat.S_IWOTH:
            return  # such as /tmp: everybody may use it as it is
        if status.st_uid == user.uid:
            own_entries(directory, user, only_of_root=True)
        else:
            check_ours(path, status)
            own_entries(directory, user, only_of_root=False)
            os.fchown(directory, user.uid, user.gid)
        os.fchmod(directory, 0o700)
    except PermissionError as fault:
        # Such as NFS, which takes the root of its clients for an ordinary user.
        raise Refused(
            f"The directory {path} can't be given to the user {user.name} ({fault.strerror}): "
            f"make it one of that user's, with mode 0700, or name another."
        ) from fault
    finally:
        os.close(directory)


def check_ours(path: Path, status: os.stat_result) -> None:
    """Refuses a directory whose content is not Deemster's, whatever a setting says."""
    if status.st_uid != 0:
        raise Refused(
            f"The directory {path} belongs to another user (uid {status.st_uid}): start "
            "Deemster as that user, or name another directory."
        )
    is_private = stat.S_IMODE(status.st_mode) == 0o700 and path != Path.home()
    names = {entry.name for entry in path.iterdir()}
    if names and not is_private and not OUR_NAMES & names:
        raise Refused(
            f"The directory {path} is not empty, and its content is not Deemster's: name "
            "another directory."
        )


def own_entries(directory: int, user: ServiceUser, *, only_of_root: bool) -> None:
    with os.scandir(directory) as entries:
        names = [entry.name for entry in entries]
    for name in names:
        with suppress(FileNotFoundError):
            own_entry(directory, name, user, only_of_root=only_of_root)


def own_entry(parent: int, name: str, user: ServiceUser, *, only_of_root: bool) -> None:
    """Never follows a link, and leaves files alone that have a second name elsewhere.

    The user may be able to write to the directory, so that what is checked is what is changed.
    """
    entry = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        found = os.fstat(entry)
        if only_of_root and found.st_uid != 0:
            return
        if stat.S_ISDIR(found.st_mode):
            directory = os.open(f"/proc/self/fd/{entry}", os.O_RDONLY | os.O_CLOEXEC)
            try:
                own_entries(directory, user, only_of_root=False)
            finally:
                os.close(directory)
        elif found.st_nlink != 1:
            return
        call("fchownat", entry, b"", user.uid, user.gid, AT_EMPTY_PATH)
    finally:
        os.close(entry)
