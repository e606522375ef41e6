"""Ends server processes of an earlier run, so that at most one server uses a cluster."""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

from deemster.domain.errors import Unavailable
from deemster.store.embedded import endpoint
from deemster.store.embedded.data_directory import ClusterHome, open_lock, try_lock

STEPS: tuple[tuple[signal.Signals, float], ...] = (
    (signal.SIGINT, 60),
    (signal.SIGQUIT, 10),
    (signal.SIGKILL, 10),
)
"""Signals in order, each with the time to wait for its effect."""
POLL_S = 0.02


async def end_orphans(home: ClusterHome) -> int:
    """Returns the server's lock, for the new server to inherit, once no process holds it."""
    lock = open_lock(home.path / "server.lock")
    try:
        if not is_free(home, lock):
            await end_processes(home, lock)
    except BaseException:
        os.close(lock)
        raise
    # No server of this cluster is left, whichever process has their pids now.
    for stale in (home.cluster / "postmaster.pid", home.socket / f"{endpoint.FILE}.lock"):
        stale.unlink(missing_ok=True)
    return lock


async def end_processes(home: ClusterHome, lock: int) -> None:
    for number, timeout_s in STEPS:
        if not send(home, number):
            continue
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while not is_free(home, lock):  # noqa: ASYNC110 - other processes set no event
                    await asyncio.sleep(POLL_S)
                return
    raise Unavailable(
        f"An earlier database server on {home.cluster} does not end (processes"
        f" {server_processes(home)}): end it, then start again."
    )


def is_free(home: ClusterHome, lock: int) -> bool:
    return try_lock(lock) and not server_processes(home)


def send(home: ClusterHome, number: signal.Signals) -> bool:
    """Returns whether waiting makes sense. SIGINT goes to the postmaster only: for its children
    it has another meaning.
    """
    chosen = server_processes(home)
    if number == signal.SIGINT:
        chosen = [pid for pid in chosen if pid == postmaster(home)]
    for pid in chosen:
        with suppress(ProcessLookupError, PermissionError):  # another user's: see below
            os.kill(pid, number)
    return bool(chosen) or number != signal.SIGINT


def postmaster(home: ClusterHome) -> int | None:
    try:
        return int((home.cluster / "postmaster.pid").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None


def server_processes(home: ClusterHome) -> list[int]:
    """Lists server processes that use the cluster, in any mount namespace."""
    directories = set()
    for path in (home.cluster, home.new_cluster):
        with suppress(OSError):
            directories.add(identity(path))
    processes = (path for path in Path("/proc").iterdir() if path.name.isdecimal())
    return [int(path.name) for path in processes if works_in(path, directories)]


def works_in(process: Path, directories: set[tuple[int, int]]) -> bool:
    try:
        name = (process / "comm").read_bytes().strip()  # other users' may be no UTF-8
        return name == b"postgres" and identity(process / "cwd") in directories
    except OSError:
        return False


def identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino
