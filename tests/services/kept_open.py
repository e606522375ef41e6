"""Keeps contexts open from one test to the next, such as sandboxes that take long to open."""

import asyncio
from collections.abc import Callable, Hashable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

T = TypeVar("T")


class KeptOpen:
    """Each context is opened and closed by a task of its own, because both need the same."""

    def __init__(self) -> None:
        self._closing = asyncio.Event()
        self._opened: dict[Hashable, asyncio.Future[Any]] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def get(
        self, key: Hashable, opening: Callable[[], AbstractAsyncContextManager[T]]
    ) -> T:
        """What the context of this key yields; the first caller opens it."""
        if key not in self._opened:
            opened = self._opened[key] = asyncio.get_running_loop().create_future()
            self._tasks.append(asyncio.create_task(self._keep(opening(), opened)))
        found: T = await self._opened[key]
        return found

    async def close(self) -> None:
        self._closing.set()
        await asyncio.gather(*self._tasks)

    async def _keep(
        self, context: AbstractAsyncContextManager[T], opened: asyncio.Future[T]
    ) -> None:
        try:
            async with context as yielded:
                opened.set_result(yielded)
                await self._closing.wait()
        except Exception as fault:
            if opened.done():
                raise
            opened.set_exception(fault)


SHARED_BY_TESTS = KeptOpen()
"""Closed when the last test of this process has ended."""
