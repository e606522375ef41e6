"""Shows on a terminal how far a verification is; elsewhere it says nothing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich import progress
from rich.console import Console
from rich.markup import escape


class Progress:
    """One line for each step that is under way."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self._bars = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bars.stop()

    @contextmanager
    def step(self, name: str, total: int) -> Iterator[Callable[[], None]]:
        """Call what it gives once for each of the `total` parts."""
        task = self._bars.add_task(escape(name), total=total)
        try:
            yield lambda: self._bars.advance(task)
        finally:
            self._bars.remove_task(task)
