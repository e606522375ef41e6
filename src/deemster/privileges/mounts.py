"""Makes directories reachable for a user who may not enter the directories above them.

No permission is changed. In a mount namespace of its own, this process sees an empty directory
in place of the first one that the user may not enter, and in it only the directories that are
needed, under their usual paths.
"""

import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from deemster.privileges.capabilities import call
from deemster.privileges.service_user import ServiceUser

CLONE_NEWNS: Final = 0x00020000
MS_NOSUID, MS_BIND, MS_REC, MS_SLAVE = 2, 4096, 16384, 1 << 19


def make_reachable(paths: Collection[Path], user: ServiceUser) -> None:
    """Raises OSError if mounting is not permitted here; nothing has changed then."""
    # A directory that the user may not enter itself, as PYTHONPATH may name one, is no use.
    usable = [path for path in paths if not path.is_dir() or may_enter(path.stat(), user)]
    hidden = {path: obstacle for path in usable if (obstacle := find_obstacle(path, user))}
    if not hidden:
        return
    call("unshare", CLONE_NEWNS)
    # Slave: these mounts stay here, but an unmount outside still takes effect here.
    call("mount", None, b"/", None, MS_REC | MS_SLAVE, None)
    # All are opened before the first mount hides them.
    umask = os.umask(0o022)
    opened = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in outermost(hidden)}
    try:
        for obstacle in outermost(hidden.values()):
            options = b"size=1m,mode=755"
            call("mount", b"tmpfs", os.fsencode(obstacle), b"tmpfs", MS_NOSUID, options)
        for path, descriptor in opened.items():
            bind(descriptor, path)
    finally:
        os.umask(umask)
        for descriptor in opened.values():
            os.close(descriptor)


def find_obstacle(path: Path, user: ServiceUser) -> Path | None:
    """Returns the first directory above the path that the user may not enter."""
    for directory in reversed(path.parents):
        if not may_enter(directory.stat(), user):
            return directory
    return None


def may_enter(status: os.stat_result, user: ServiceUser) -> bool:
    if status.st_uid == user.uid:
        return bool(status.st_mode & stat.S_IXUSR)
    if status.st_gid == user.gid:
        return bool(status.st_mode & stat.S_IXGRP)
    return bool(status.st_mode & stat.S_IXOTH)


def outermost(paths: Collection[Path]) -> Iterator[Path]:
    """Leaves out paths that are inside another one."""
    for path in sorted(set(paths)):
        if not any(path != other and path.is_relative_to(other) for other in paths):
            yield path


def bind(descriptor: int, path: Path) -> None:
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        path.mkdir(mode=0o755, exist_ok=True)
    else:
        path.touch(mode=0o644)
    source = f"/proc/self/fd/{descriptor}".encode()
    call("mount", source, os.fsencode(path), None, MS_BIND | MS_REC, None)
