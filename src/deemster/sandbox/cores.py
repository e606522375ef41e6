"""CPU cores: workers lock those on which they judge, and other programs keep off them (E9)."""

import fcntl
import os
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from deemster.domain.errors import Refused
from deemster.locks import locked

PASSES: Final = 20
"""The second pass already finds nothing to move, unless programs start others very fast."""


def usual_slots() -> int:
    """All cores but one, which the rest of the service uses."""
    return max(1, len(os.sched_getaffinity(0)) - 1)


@contextmanager
def reserve_cores(directory: Path, count: int) -> Iterator[tuple[int, ...]]:
    """Locks cores, so that no other worker with the same directory uses them (Q9)."""
    usable = sorted(os.sched_getaffinity(0))
    with ExitStack() as stack:
        reserved: list[int] = []
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(directory, fcntl.LOCK_EX):
            for core in usable:
                if len(reserved) == count:
                    break
                lock = directory / f"core{core}"
                lock.mkdir(mode=0o700, exist_ok=True)
                with suppress(BlockingIOError):
                    stack.enter_context(locked(lock, fcntl.LOCK_EX | fcntl.LOCK_NB))
                    reserved.append(core)
        if len(reserved) < count:
            raise Refused(
                f"{count} slots need {count} cores, but other workers leave only "
                f"{len(reserved)} of this machine's {len(usable)} cores free: use fewer "
                "slots (`--slots`), or stop another worker."
            )
        yield tuple(reserved)


def unreserved_cores(directory: Path) -> frozenset[int]:
    """Returns the usable cores on which no worker with the same directory judges."""
    usable = os.sched_getaffinity(0)
    if not directory.exists():
        return frozenset(usable)
    # Looking takes the locks for a moment, in which no worker may try to reserve a core.
    with locked(directory, fcntl.LOCK_EX):
        return frozenset(core for core in usable if not is_locked(directory / f"core{core}"))


def is_locked(directory: Path) -> bool:
    try:
        with locked(directory, fcntl.LOCK_SH | fcntl.LOCK_NB):
            return False
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True


def move_descendants(process: int, cores: Collection[int]) -> None:
    """Moves all processes that this one has started to these cores, with their threads.

    A process that is moved passes its cores on to those that it starts. So a few passes also
    reach the ones that were started meanwhile.
    """
    for _ in range(PASSES):
        moved = [move(thread, cores) for thread in threads_below(process)]
        if not any(moved):
            return


def move(thread: int, cores: Collection[int]) -> bool:
    """Returns False if the thread has ended, or was on these cores already."""
    with suppress(ProcessLookupError):
        if os.sched_getaffinity(thread) != set(cores):
            os.sched_setaffinity(thread, cores)
            return True
    return False


def threads_below(process: int) -> Iterator[int]:
    for child in children_of(process):
        yield from threads_of(child)
        yield from threads_below(child)


def threads_of(process: int) -> list[int]:
    with suppress(FileNotFoundError, ProcessLookupError):
        return [int(each.name) for each in Path(f"/proc/{process}/task").iterdir()]
    return []


def children_of(process: int) -> list[int]:
    found: list[int] = []
    for thread in threads_of(process):
        with suppress(FileNotFoundError, ProcessLookupError):
            children = Path(f"/proc/{process}/task/{thread}/children").read_text()
            found += map(int, children.split())
    return found
