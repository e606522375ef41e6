"""Prints the messages of `deemster up`, and on a terminal a status line below them."""

from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

QUIET_TURNS: Final = 30
"""Without a terminal, a changed status is printed at most once in this many updates."""


class ServiceConsole(Console):
    def on_broken_pipe(self) -> None:
        """The service goes on when nobody reads its output any more."""
        self.quiet = True


class Display:
    def __init__(self) -> None:
        self._console = ServiceConsole(highlight=False, soft_wrap=True)
        self._live: Live | None = None
        self._printed = ""
        self._turns = QUIET_TURNS

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def say(self, text: str, style: str = "") -> None:
        with suppress(OSError):  # the terminal was closed
            self._console.print(Text(text, style=style))
            self._console.file.flush()

    def warn(self, text: str) -> None:
        self.say(text, "yellow")

    def status(self, text: str) -> None:
        """Replaces the status line."""
        with suppress(OSError):
            if self._console.is_terminal:
                self._show_live(text)
                return
            self._turns += 1
            if text != self._printed and self._turns >= QUIET_TURNS:
                self._printed, self._turns = text, 0
                self.say(text)

    def hint(self, text: str) -> None:
        """Shows on a terminal what is going on."""
        with suppress(OSError):
            if self._console.is_terminal:
                self._show_live(text)

    def close(self) -> None:
        """Removes the status line."""
        if self._live is not None:
            with suppress(OSError):
                self._live.stop()
            self._live = None

    def _show_live(self, text: str) -> None:
        if self._live is None:
            self._live = Live(
                console=self._console, auto_refresh=False, transient=True, redirect_stdout=False
            )
            self._live.start()
        self._live.update(
            Text(text, style="dim", no_wrap=True, overflow="ellipsis"), refresh=True
        )
