"""Wakes requests of this process that wait for news of one submission, execution or worker."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Watchers:
    def __init__(self) -> None:
        self._events: dict[str, set[asyncio.Event]] = {}

    def __len__(self) -> int:
        """How many requests wait."""
        return sum(map(len, self._events.values()))

    def __iter__(self) -> Iterator[str]:
        """Ids that somebody watches."""
        return iter(list(self._events))

    @contextmanager
    def watching(self, watched: str) -> Iterator[asyncio.Event]:
        """The event is set whenever there is news of this id, from now on."""
        event = asyncio.Event()
        self._events.setdefault(watched, set()).add(event)
        try:
            yield event
        finally:
            self._events[watched].discard(event)
            if not self._events[watched]:
                del self._events[watched]

    def wake(self, watched: str) -> None:
        for event in self._events.get(watched, ()):
            event.set()

    def wake_all(self) -> None:
        for watched in self:
            self.wake(watched)
