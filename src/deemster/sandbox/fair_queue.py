"""Hands out a fixed set of items, first come first served, several at a time if asked."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

Preference = Callable[[T], int]
"""Scores an item; the highest score wins, and among equals the item that is free longest."""


@dataclass(frozen=True, slots=True)
class _Waiter(Generic[T]):
    preferences: Sequence[Preference[T]]
    items: asyncio.Future[list[T]]


class FairQueue(Generic[T]):
    """A request for many items is not overtaken by later requests for fewer."""

    def __init__(self) -> None:
        self._free: list[T] = []
        self._waiters: deque[_Waiter[T]] = deque()

    async def acquire(self, preferences: Sequence[Preference[T]]) -> list[T]:
        """Returns one item for each preference, in that order, as soon as all are free."""
        if not self._waiters and len(self._free) >= len(preferences):
            return self._pick(preferences)
        items: asyncio.Future[list[T]] = asyncio.get_running_loop().create_future()
        self._waiters.append(_Waiter(preferences, items))
        try:
            return await items
        except asyncio.CancelledError:
            if items.done() and not items.cancelled() and not items.exception():
                self._free += items.result()
            self._serve_waiters()
            raise

    def release(self, item: T) -> None:
        """Makes an item available: a new one, or one that was acquired before."""
        self._free.append(item)
        self._serve_waiters()

    def remove(self, item: T) -> None:
        """Forgets a free item; whoever acquired an item must not release it instead."""
        if item in self._free:
            self._free.remove(item)

    def fail_waiters(self, error: Exception) -> None:
        while self._waiters:
            items = self._waiters.popleft().items
            if not items.done():
                items.set_exception(error)

    def _serve_waiters(self) -> None:
        while self._waiters:
            first = self._waiters[0]
            if not first.items.done():
                if len(self._free) < len(first.preferences):
                    return
                first.items.set_result(self._pick(first.preferences))
            self._waiters.popleft()

    def _pick(self, preferences: Sequence[Preference[T]]) -> list[T]:
        picked = []
        for preference in preferences:
            best = max(self._free, key=preference)
            self._free.remove(best)
            picked.append(best)
        return picked
