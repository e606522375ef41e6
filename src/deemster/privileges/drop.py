"""Gives up root: this process becomes the user that runs the service (X11)."""

import os
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import deemster
from deemster.privileges.capabilities import (
    Capability,
    change_user,
    drop_bounding_set,
    forbid_new_privileges,
    held,
)
from deemster.privileges.mounts import make_reachable
from deemster.privileges.ownership import own_directory
from deemster.privileges.service_user import ServiceUser


@dataclass(frozen=True, slots=True)
class ServicePaths:
    """What the process must be able to reach as the service's user."""

    owned: Sequence[Path]
    """Directories that are given to the user."""
    read: Sequence[Path] = ()
    """Other files and directories."""


class _Process:
    is_claimed = False


def claim_process() -> None:
    """Says that this process runs one command only, so that it may give up its privileges."""
    _Process.is_claimed = True


def is_claimed() -> bool:
    return _Process.is_claimed


def give_up_root(
    user: ServiceUser, paths: ServicePaths, keep: Collection[Capability] = ()
) -> str | None:
    """Becomes the user for good, or returns the reason why that is not possible here.

    Call this before the first thread starts.
    """
    for path in paths.owned:
        own_directory(path, user)
    needed = [*paths.owned, *paths.read, *interpreter_paths()]

    def change() -> None:
        make_reachable(needed, user)
        change_user(user.uid, user.gid, keep)

    def try_change() -> None:
        change()
        check_access(user, paths)

    # In a child first, because there is no way back.
    reason = reason_of_failure(try_change)
    if reason is None:
        change()
    return reason


def give_up_the_rest() -> None:
    """For a process that is not root, or stays root: it gains no more privileges."""
    with suppress(OSError):  # only who has capabilities can give them up
        if held() and os.geteuid() != 0:
            drop_bounding_set()
    forbid_new_privileges()


def interpreter_paths() -> set[Path]:
    """The paths from which Python and Deemster are loaded, with and without links."""
    package = Path(deemster.__file__).parent
    given = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, *sys.path}
    paths = {*map(Path, filter(None, given)), Path(sys.executable), package.parents[1]}
    paths |= {path.resolve() for path in paths}
    return {path for path in paths if path.is_absolute() and path.exists()}


def check_access(user: ServiceUser, paths: ServicePaths) -> None:
    """In the child: refuses if something that the service needs can't be used."""
    modes = {
        Path(deemster.__file__): os.R_OK,
        Path(sys.executable): os.R_OK | os.X_OK,
        **dict.fromkeys(paths.read, os.R_OK),
        **dict.fromkeys(paths.owned, os.R_OK | os.W_OK | os.X_OK),
    }
    for path, mode in modes.items():
        if not os.access(path, mode):
            raise PermissionError(f"the user {user.name} can't use {path}")


def reason_of_failure(action: Callable[[], None]) -> str | None:
    """Runs an action in a child process; None: it succeeded."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            action()
        except BaseException as fault:  # noqa: BLE001 - the child must not return
            os.write(writer, (str(fault) or repr(fault)).encode()[:1000])
            os._exit(1)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as text:
        reason = text.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    return None if status == 0 else reason or "the process that tried it died"
