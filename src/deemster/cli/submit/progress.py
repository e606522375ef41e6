"""Shows on a terminal how far a submission is; elsewhere it says nothing."""

from types import TracebackType
from typing import Any, Self

from rich import progress
from rich.console import Console


class Waiting:
    def __init__(self) -> None:
        console = Console(stderr=True)
        self.is_seen = console.is_terminal
        self._bars = progress.Progress(
            progress.SpinnerColumn(),
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bars.add_task("sent", total=None)

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

    def show(self, answer: Any) -> None:
        done = answer.get("progress") or {}
        self._bars.update(
            self._task,
            description=in_words(answer),
            completed=done.get("case", 0),
            total=done.get("of") or None,
        )


def in_words(answer: Any) -> str:
    position, wait_s = answer.get("queue_position"), answer.get("estimated_wait_s")
    if position is not None:
        about = f", about {wait_s:.0f} s" if wait_s is not None else ""
        return f"waiting, number {position} in the line{about}"
    done = answer.get("progress")
    if done:
        return f"case {done['case']} of {done['of']}"
    return str(answer.get("status", "?"))
