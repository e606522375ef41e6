"""Waits for the end of submissions and executions by long polls (H1)."""

import math
import time
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from deemster.client.steps import Emit, ItemSteps, Pause, Steps

LONG_POLL_S: Final = 20.0
"""How long the server may wait before it answers."""
PAUSE_S: Final = 0.5
"""After an answer that came earlier, as from a server that is shutting down."""


class Endable(Protocol):
    @property
    def has_ended(self) -> bool: ...


E = TypeVar("E", bound=Endable)
Read = Callable[[float], Steps[E]]
"""Reads an object; the server waits up to so many seconds for its end."""


def wait_for_end(what: str, read: Read[E], timeout_s: float | None) -> Steps[E]:
    """Raises `TimeoutError` if it has not ended after `timeout_s` seconds."""
    ends_s = math.inf if timeout_s is None else time.monotonic() + timeout_s
    while True:
        found = yield from look(read, min(LONG_POLL_S, max(ends_s - time.monotonic(), 0)))
        if found.has_ended:
            return found
        if time.monotonic() >= ends_s:
            raise TimeoutError(f"{what} has not ended after {timeout_s:g} s.")


def watch_until_end(read: Read[E], every_s: float) -> ItemSteps[E]:
    """Emits the object again and again, the last time when it has ended."""
    while True:
        found = yield from look(read, every_s)
        yield Emit(found)
        if found.has_ended:
            return


def look(read: Read[E], wait_s: float) -> Steps[E]:
    began_s = time.monotonic()
    found = yield from read(wait_s)
    if not found.has_ended and time.monotonic() - began_s < wait_s / 2:
        yield Pause(PAUSE_S)
    return found
