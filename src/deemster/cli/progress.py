"""Shows progress bars on stderr, if stderr is a terminal."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from rich import progress
from rich.console import Console
from rich.markup import escape

from deemster.cli.output import print_error
from deemster.domain.errors import LostRace, Refused

K = TypeVar("K")
V = TypeVar("V")


class Progress(progress.Progress):
    def __init__(self, *, in_background: bool = True) -> None:
        """A benchmark turns `in_background` off: the thread that redraws would disturb it."""
        console = Console(stderr=True)
        self._in_background = in_background
        super().__init__(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            console=console,
            transient=True,
            auto_refresh=in_background,
            disable=not console.is_terminal,
        )

    @contextmanager
    def step(self, name: str, total: int) -> Iterator[Callable[[], None]]:
        """Gives a function to call after each of the `total` parts."""
        task = self.add_task(escape(name), total=total)
        try:
            yield lambda: self.update(task, advance=1, refresh=not self._in_background)
        finally:
            self.remove_task(task)


async def for_each(
    name: str, items: Sequence[K], act: Callable[[K], Awaitable[V]]
) -> tuple[dict[K, V], int]:
    """The results by item, and the number of items that failed; each failure is printed."""
    done: dict[K, V] = {}
    with Progress() as bars, bars.step(name, len(items)) as advance:
        for item in items:
            try:
                done[item] = await act(item)
            except (Refused, LostRace) as fault:
                print_error(fault)
            advance()
    return done, len(items) - len(done)
