"""Remembers answers for a moment; of many who ask at once, one looks."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class SingleFlightCache(Generic[K, V]):
    """For what changes seldom and may be some seconds old: tokens, problems."""

    def __init__(
        self, look: Callable[[K], Awaitable[V]], *, keep_s: float, most: int = 10_000
    ) -> None:
        self._look = look
        self._keep_s = keep_s
        self._most = most
        self._known: OrderedDict[K, tuple[float, V]] = OrderedDict()
        self._asking: dict[K, asyncio.Future[V]] = {}

    async def get(self, key: K) -> V:
        known = self._known.get(key)
        if known is not None and known[0] > time.monotonic():
            return known[1]
        while (asking := self._asking.get(key)) is not None:
            await asyncio.wait([asking])
            if not asking.cancelled():
                return asking.result()
            # Whoever asked went away; that is no answer for those who stayed.
        return await self._ask(key)

    def forget(self, key: K) -> None:
        """Whoever asks from now on is told nothing that was looked up before."""
        self._known.pop(key, None)
        self._asking.pop(key, None)

    async def _ask(self, key: K) -> V:
        future = self._asking[key] = asyncio.get_running_loop().create_future()
        try:
            value = await self._look(key)
        except asyncio.CancelledError:
            future.cancel()
            raise
        except Exception as fault:
            future.set_exception(fault)
            future.exception()  # nobody else may be waiting to hear of it
            raise
        finally:
            is_current = self._asking.get(key) is future
            if is_current:
                del self._asking[key]
        future.set_result(value)
        if not is_current:
            return value
        self._known[key] = time.monotonic() + self._keep_s, value
        self._known.move_to_end(key)
        while len(self._known) > self._most:
            self._known.popitem(last=False)
        return value
