"""Cores of this machine, each held by one worker process at a time (Q9)."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.locks import locked


@contextmanager
def hold_cores(place: Path, count: int) -> Iterator[tuple[int, ...]]:
    """As many as asked for, that no other process holds by the same place."""
    usable = sorted(os.sched_getaffinity(0))
    with ExitStack() as stack:
        held: list[int] = []
        for core in usable:
            if len(held) == count:
                break
            directory = place / f"core{core}"
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(BlockingIOError):
                stack.enter_context(locked(directory, fcntl.LOCK_EX | fcntl.LOCK_NB))
                held.append(core)
        if len(held) < count:
            raise Refused(
                f"{count} slots need {count} cores, and of this machine's {len(usable)} only "
                f"{len(held)} are free of other workers: give fewer with --slots, or stop one."
            )
        yield tuple(held)
