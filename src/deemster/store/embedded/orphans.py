"""Ends what an earlier run has left, so that one server at most works on a cluster."""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

from deemster.domain.errors import Unavailable
from deemster.store.embedded import endpoint
from deemster.store.embedded.data_directory import Home, open_lock, try_lock

STEPS: tuple[tuple[signal.Signals, float], ...] = (
    (signal.SIGINT, 60),
    (signal.SIGQUIT, 10),
    (signal.SIGKILL, 10),
)
"""What is sent, and how long its effect is awaited: an orderly end first, at last any."""
PACE_S = 0.02


async def take_over(home: Home) -> int:
    """The server's lock, for the server to inherit, once nobody is left who holds it."""
    lock = open_lock(home.path / "server.lock")
    try:
        if not is_free(home, lock):
            await clear(home, lock)
    except BaseException:
        os.close(lock)
        raise
    # Whoever has the number that they hold by now, it is no server of this cluster.
    for stale in (home.cluster / "postmaster.pid", home.socket / f"{endpoint.FILE}.lock"):
        stale.unlink(missing_ok=True)
    return lock


async def clear(home: Home, lock: int) -> None:
    for number, patience_s in STEPS:
        if not send(home, number):
            continue
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                while not is_free(home, lock):  # noqa: ASYNC110 - others' children set no event
                    await asyncio.sleep(PACE_S)
                return
    raise Unavailable(
        f"An earlier database server on {home.cluster} does not end (processes"
        f" {residents(home)}): end it, then start again."
    )


def is_free(home: Home, lock: int) -> bool:
    return try_lock(lock) and not residents(home)


def send(home: Home, number: signal.Signals) -> bool:
    """Whether it is worth waiting for. An interrupt is for the postmaster only: to other parts
    of the server it means other things, and without a postmaster nothing ends in order.
    """
    chosen = residents(home)
    if number == signal.SIGINT:
        chosen = [pid for pid in chosen if pid == postmaster(home)]
    for pid in chosen:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
    return bool(chosen) or number != signal.SIGINT


def postmaster(home: Home) -> int | None:
    try:
        return int((home.cluster / "postmaster.pid").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None


def residents(home: Home) -> list[int]:
    """Server processes that work in the cluster, in whatever mount namespace they see it."""
    places = set()
    for place in (home.cluster, home.half_made):
        with suppress(OSError):
            places.add(identity(place))
    processes = (path for path in Path("/proc").iterdir() if path.name.isdecimal())
    return [int(path.name) for path in processes if works_in(path, places)]


def works_in(process: Path, places: set[tuple[int, int]]) -> bool:
    try:
        name = (process / "comm").read_text().strip()
        return name == "postgres" and identity(process / "cwd") in places
    except OSError:
        return False


def identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino
