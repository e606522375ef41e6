"""Reads what the processes in a slot do: how long they ran, and whether they want to run."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
READY: Final = frozenset({"R", "D"})
"""States of a thread that runs, waits for a core, or waits for a disk."""


@dataclass(frozen=True, slots=True)
class Activity:
    """All threads of a program together. Threads that have ended are not counted."""

    cpu_ns: int = 0
    queued_ns: int = 0
    """How long threads were ready to run, but no core was free for them."""
    is_ready: bool = False
    """Whether a thread is in one of the READY states."""


def read_activity(spawner_pid: int) -> Activity:
    """Reads /proc, which shows these files to every user, unless it hides other processes."""
    cpu_ns = queued_ns = 0
    is_ready = False
    for thread in program_threads(spawner_pid):
        with suppress(OSError, ValueError, IndexError):  # it may have ended meanwhile
            # The name before the state, which programs choose, may contain any bytes.
            state = chr((thread / "stat").read_bytes().rpartition(b") ")[2][0])
            is_ready = is_ready or state in READY
            ran, queued, _ = (thread / "schedstat").read_text().split()
            cpu_ns += int(ran)
            queued_ns += int(queued)
    return Activity(cpu_ns, queued_ns, is_ready)


def program_threads(spawner_pid: int) -> Iterator[Path]:
    """The threads of all processes in a slot, except those of the spawner and the inits."""
    for init in children(spawner_pid):
        unread = children(init)
        while unread:
            pid = unread.pop()
            yield from threads(pid)
            unread += children(pid)


def children(pid: int) -> list[int]:
    found: list[int] = []
    for thread in threads(pid):
        with suppress(OSError):
            found += map(int, (thread / "children").read_text().split())
    return found


def threads(pid: int) -> list[Path]:
    with suppress(OSError):
        return list((PROC / str(pid) / "task").iterdir())
    return []
