"""A cache for several threads that keeps a number of values, each for a time."""

import time
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

from cachetools import TTLCache

V = TypeVar("V")


class TtlCache(Generic[V]):
    """A full cache drops the value that was not used for longest."""

    def __init__(
        self, *, keep_s: float, max_entries: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._values: TTLCache[str, V] = TTLCache(max_entries, keep_s, clock)
        self._lock = Lock()

    def get(self, key: str) -> V | None:
        with self._lock:
            return self._values.get(key)

    def put(self, key: str, value: V) -> None:
        with self._lock:
            self._values[key] = value

    def forget(self, key: str) -> None:
        with self._lock:
            self._values.pop(key, None)
