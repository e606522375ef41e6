"""Wakes the requests of judge hosts that wait for tasks."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from deemster.domain.ids import WorkerId


class HostTaskSignals:
    def __init__(self, wait: Callable[[float], Awaitable[object]]) -> None:
        """`wait` returns the ids of workers that have tasks to fetch."""
        self._wait = wait
        self._waiting: dict[WorkerId, set[asyncio.Event]] = defaultdict(set)
        self.is_draining = False

    async def run(self) -> None:
        while True:
            found = await self._wait(60)
            for worker in found if isinstance(found, list) else ():
                self._wake(WorkerId(str(worker)))

    @contextmanager
    def listening(self, worker: WorkerId) -> Iterator[asyncio.Event]:
        """The event is set whenever the worker has got a task, from now on."""
        event = asyncio.Event()
        self._waiting[worker].add(event)
        try:
            yield event
        finally:
            self._waiting[worker].discard(event)
            if not self._waiting[worker]:
                del self._waiting[worker]

    def drain(self) -> None:
        """Ends all waits before the process ends."""
        self.is_draining = True
        for worker in list(self._waiting):
            self._wake(worker)

    def _wake(self, worker: WorkerId) -> None:
        for event in self._waiting.get(worker, ()):
            event.set()
