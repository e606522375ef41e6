"""Opens something when it is first wanted: many workers never need it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Generic, Self, TypeVar

import structlog

from deemster.background_task import background_task
from deemster.domain.errors import DeemsterError, Unavailable

log = structlog.get_logger()

T = TypeVar("T")


class OnDemand(Generic[T]):
    """If it can't be opened, or fails, no worker ends: it is opened again when it is wanted."""

    def __init__(
        self, name: str, open_it: Callable[[], AbstractAsyncContextManager[T]]
    ) -> None:
        self._name = name
        self._open = open_it
        self._wanted = asyncio.Event()
        self._opened: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    @classmethod
    @asynccontextmanager
    async def open(
        cls, name: str, open_it: Callable[[], AbstractAsyncContextManager[T]]
    ) -> AsyncIterator[Self]:
        """`name` is that of the things in messages."""
        on_demand = cls(name, open_it)
        async with background_task(on_demand._serve()):
            yield on_demand

    async def get(self) -> T:
        """Waits until it is open; raises Unavailable if it can't be opened."""
        self._wanted.set()
        return await asyncio.shield(self._opened)

    def get_if_open(self) -> T | None:
        """Otherwise it is opened from now on."""
        self._wanted.set()
        return self._opened.result() if self._opened.done() else None

    async def _serve(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            opened = self._opened
            try:
                async with self._open() as found:
                    opened.set_result(found)
                    await asyncio.get_running_loop().create_future()
            except (DeemsterError, OSError) as fault:
                log.warning("worker.not_opened", what=self._name, error=str(fault))
                self._opened = asyncio.get_running_loop().create_future()
                if not opened.done():
                    opened.set_exception(Unavailable(f"{self._name} can't be used: {fault}"))
                    opened.exception()  # perhaps nobody waits for it
