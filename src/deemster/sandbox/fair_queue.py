"""Hands things out in order of asking; who asks for several gets all at once, never half."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

Liking = Callable[[T], int]
"""How well a thing suits whoever asks; among equals the one that has been free longest."""


@dataclass(frozen=True, slots=True)
class _Asking(Generic[T]):
    likings: Sequence[Liking[T]]
    answer: asyncio.Future[list[T]]


class FairQueue(Generic[T]):
    """Who asks for many is not overtaken by those who ask for less and came later."""

    def __init__(self) -> None:
        self._free: list[T] = []
        self._asking: deque[_Asking[T]] = deque()

    async def take(self, likings: Sequence[Liking[T]]) -> list[T]:
        """One thing for each liking, in that order."""
        if not self._asking and len(self._free) >= len(likings):
            return self._pick(likings)
        answer: asyncio.Future[list[T]] = asyncio.get_running_loop().create_future()
        self._asking.append(_Asking(likings, answer))
        try:
            return await answer
        except asyncio.CancelledError:
            if answer.done() and not answer.cancelled() and not answer.exception():
                self._free += answer.result()
            self._answer()  # who stood behind may go on
            raise

    def put(self, thing: T) -> None:
        """Makes a thing free, whether it was taken before or is new."""
        self._free.append(thing)
        self._answer()

    def remove(self, thing: T) -> None:
        """It is not to be handed out any more; one that is taken is its taker's to drop."""
        if thing in self._free:
            self._free.remove(thing)

    def turn_away(self, error: Exception) -> None:
        """All who wait are answered with this."""
        while self._asking:
            answer = self._asking.popleft().answer
            if not answer.done():
                answer.set_exception(error)

    def _answer(self) -> None:
        while self._asking:
            first = self._asking[0]
            if not first.answer.done():
                if len(self._free) < len(first.likings):
                    return
                first.answer.set_result(self._pick(first.likings))
            self._asking.popleft()

    def _pick(self, likings: Sequence[Liking[T]]) -> list[T]:
        picked = []
        for liking in likings:
            best = max(self._free, key=liking)
            self._free.remove(best)
            picked.append(best)
        return picked
