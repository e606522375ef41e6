"""Does one thing to many: what can't be done is told, and keeps nothing else from it."""

import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from rich.console import Console
from rich.progress import track

from deemster.domain.errors import LostRace, Refused

K = TypeVar("K")
V = TypeVar("V")


async def for_each(
    items: Sequence[K], act: Callable[[K], Awaitable[V]]
) -> tuple[dict[K, V], int]:
    """What came of those that worked, and how many did not."""
    done: dict[K, V] = {}
    console = Console(stderr=True)
    quiet = not console.is_terminal or len(items) < 2
    for item in track(items, "", console=console, transient=True, disable=quiet):
        try:
            done[item] = await act(item)
        except (Refused, LostRace) as fault:
            print(f"deemster: {fault}", file=sys.stderr)
    return done, len(items) - len(done)
