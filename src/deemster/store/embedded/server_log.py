"""Rotates the server's log at each start, and keeps it small while the server runs."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

MAX_BYTES = 4 * 1024 * 1024
CHECK_S = 10.0
TAIL_BYTES = 2000


@contextmanager
def opened(log: Path) -> Iterator[IO[Any]]:
    # In append mode the server continues at the new end after a truncation.
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "ab") as file:
        yield file


def rotate(log: Path) -> None:
    if log.exists():
        log.replace(previous(log))


def watch(log: Path, process: asyncio.subprocess.Process) -> None:
    """Trims the log as long as the process lives."""
    if process.returncode is None:
        asyncio.get_running_loop().call_later(CHECK_S, watch, log, process)
        trim(log)


def trim(log: Path) -> None:
    """The server keeps the file open, so it is copied and truncated."""
    if log.exists() and log.stat().st_size > MAX_BYTES:
        end = read_end(log, MAX_BYTES)
        os.truncate(log, 0)
        previous(log).unlink(missing_ok=True)
        with opened(previous(log)) as file:
            file.write(end)


def tail(log: Path) -> str:
    return read_end(log, TAIL_BYTES).decode(errors="replace").strip()


def previous(log: Path) -> Path:
    return log.with_name(f"{log.name}.1")


def read_end(log: Path, max_bytes: int) -> bytes:
    with log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - max_bytes))
        return file.read()
