"""Wakes the requests of judge hosts that wait for tasks."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager

from deemster.api.feed.watchers import Watchers
from deemster.domain.ids import WorkerId


class HostTaskSignals:
    def __init__(self, wait: Callable[[float], Awaitable[object]]) -> None:
        """`wait` returns the ids of workers that have tasks to fetch."""
        self._wait = wait
        self._waiting = Watchers()
        self.is_draining = False

    async def run(self) -> None:
        while True:
            found = await self._wait(60)
            for worker in found if isinstance(found, list) else ():
                self._waiting.wake(str(worker))

    def listening(self, worker: WorkerId) -> AbstractContextManager[asyncio.Event]:
        """The event is set whenever the worker has got a task, from now on."""
        return self._waiting.watching(worker)

    def drain(self) -> None:
        """Ends all waits before the process ends."""
        self.is_draining = True
        self._waiting.wake_all()
