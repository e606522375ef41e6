"""Runs one look-up per key at a time, shares its result, and keeps results for some seconds."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Generic, TypeVar

from cachetools import TTLCache

K = TypeVar("K")
V = TypeVar("V")


class SingleFlight(Generic[K, V]):
    """Callers that arrive while a call for their key is running get its result or its error."""

    def __init__(self, results: MutableMapping[K, V] | None = None) -> None:
        """`results` receives the result of every call."""
        self._results = results
        self._running: dict[K, asyncio.Future[V]] = {}

    async def run(self, key: K, call: Callable[[], Awaitable[V]]) -> V:
        while (running := self._running.get(key)) is not None:
            await asyncio.wait([running])
            if not running.cancelled():
                return running.result()
            # The caller that ran it was cancelled, so one of those that waited runs it again.
        future = self._running[key] = asyncio.get_running_loop().create_future()
        try:
            value = await call()
        except asyncio.CancelledError:
            future.cancel()
            raise
        except Exception as fault:
            future.set_exception(fault)
            future.exception()  # asyncio would log it if no other caller waits
            raise
        else:
            future.set_result(value)
            if self._results is not None and self._running.get(key) is future:
                self._results[key] = value
            return value
        finally:
            if self._running.get(key) is future:
                del self._running[key]

    def forget(self, key: K) -> None:
        """Later callers start a new call; the result of one that is running is not kept."""
        self._running.pop(key, None)
        if self._results is not None:
            self._results.pop(key, None)


class SingleFlightCache(Generic[K, V]):
    """Keeps values that change seldom and may be some seconds old: tokens, problems."""

    def __init__(
        self, look_up: Callable[[K], Awaitable[V]], *, keep_s: float, max_entries: int = 10_000
    ) -> None:
        self._look_up = look_up
        self._values: TTLCache[K, V] = TTLCache(max_entries, keep_s)
        self._flights = SingleFlight(self._values)

    async def get(self, key: K) -> V:
        with suppress(KeyError):
            return self._values[key]
        return await self._flights.run(key, lambda: self._look_up(key))

    def forget(self, key: K) -> None:
        self._flights.forget(key)

    def forget_values(self, is_outdated: Callable[[V], bool]) -> None:
        for key in [key for key, value in self._values.items() if is_outdated(value)]:
            self.forget(key)
