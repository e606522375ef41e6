"""The interface through which a verification reports its progress."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol


class Progress(Protocol):
    def step(self, name: str, total: int) -> AbstractContextManager[Callable[[], None]]:
        """Announces a step; the caller calls the result once for each of its `total` parts."""


class NoProgress:
    def step(self, name: str, total: int) -> AbstractContextManager[Callable[[], None]]:
        return nullcontext(lambda: None)
