"""One Postgres and one Redis for all test processes of a run, held by a process of their own.

Whoever comes first starts the host (host.py). Everyone who uses the servers holds a shared
lock on `users`; the host waits for that lock alone, and so learns when the last one has left,
in whatever way: locks end with processes.
"""

import fcntl
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tests.waiting import PATIENCE_S, wait_until

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Services:
    postgres_url: str
    template: str
    redis_url: str


@contextmanager
def joined(directory: Path) -> Iterator[Services]:
    directory.mkdir(exist_ok=True)
    host: subprocess.Popen[bytes] | None = None
    with opened(directory / "users") as users:
        with opened(directory / "starting") as starting:
            fcntl.flock(starting, fcntl.LOCK_EX)
            # Waits for a host that found nobody and is about to end.
            fcntl.flock(users, fcntl.LOCK_SH)
            if not is_running(directory):
                host = start(directory)
        yield Services(**json.loads((directory / "ready").read_text()))
    if host is not None:
        host.wait(PATIENCE_S * 10)


def start(directory: Path) -> subprocess.Popen[bytes]:
    ready, log = directory / "ready", directory / "log"
    ready.unlink(missing_ok=True)
    with log.open("wb") as file:
        host = subprocess.Popen(
            [sys.executable, "-m", "tests.services.host", str(directory)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    try:
        wait_until(lambda: ready.exists() or host.poll() is not None)
        assert ready.exists()
    except AssertionError:
        host.terminate()
        host.wait()
        raise RuntimeError(f"No servers for the tests:\n{log.read_text()}") from None
    return host


def is_running(directory: Path) -> bool:
    if not (directory / "ready").exists():
        return False
    with opened(directory / "host") as lock, suppress(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    return True


def opened(path: Path) -> IO[Any]:
    return path.open("ab")
