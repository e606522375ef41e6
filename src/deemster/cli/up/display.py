"""What `deemster up` shows: lines as they come, and on a terminal a live line below them."""

from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

QUIET_TURNS: Final = 30
"""Without a terminal, the state is told when it has changed, and not more often than this."""


class Screen(Console):
    def on_broken_pipe(self) -> None:
        """Nobody reads any more, which is no reason to end a service."""
        self.quiet = True


class Display:
    def __init__(self) -> None:
        self._console = Screen(highlight=False, soft_wrap=True)
        self._live: Live | None = None
        self._told = ""
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

    def state(self, text: str) -> None:
        """The present state, in place of the one before."""
        with suppress(OSError):
            if self._console.is_terminal:
                self._show_live(text)
                return
            self._turns += 1
            if text != self._told and self._turns >= QUIET_TURNS:
                self._told, self._turns = text, 0
                self.say(text)

    def hint(self, text: str) -> None:
        """What is being done, for someone who sits there and waits."""
        with suppress(OSError):
            if self._console.is_terminal:
                self._show_live(text)

    def close(self) -> None:
        """The live line goes; what follows is said below the others."""
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
