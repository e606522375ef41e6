"""The server's log: this run's and the one before, neither ever large."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

LARGEST_BYTES = 4 * 1024 * 1024
LOOK_S = 10.0
TAIL_BYTES = 2000


@contextmanager
def opened(log: Path) -> Iterator[IO[Any]]:
    # Appending, so that after a truncation the server goes on at the new end.
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "ab") as file:
        yield file


def rotate(log: Path) -> None:
    if log.exists():
        log.replace(earlier(log))


def watch(log: Path, process: asyncio.subprocess.Process) -> None:
    """Keeps the log small for as long as the process lives."""
    if process.returncode is None:
        asyncio.get_running_loop().call_later(LOOK_S, watch, log, process)
        trim(log)


def trim(log: Path) -> None:
    """The server writes to the same file all along, so it is copied and emptied."""
    if log.exists() and log.stat().st_size > LARGEST_BYTES:
        end = read_end(log, LARGEST_BYTES)
        os.truncate(log, 0)
        earlier(log).unlink(missing_ok=True)
        with opened(earlier(log)) as file:
            file.write(end)


def tail(log: Path) -> str:
    return read_end(log, TAIL_BYTES).decode(errors="replace").strip()


def earlier(log: Path) -> Path:
    return log.with_name(f"{log.name}.1")


def read_end(log: Path, most_bytes: int) -> bytes:
    with log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - most_bytes))
        return file.read()
