"""What threads looked up lately: so many values, each for so long, the one used last stays."""

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

V = TypeVar("V")


class TtlCache(Generic[V]):
    """For what never changes, but is not to be kept or believed for ever."""

    def __init__(
        self, *, keep_s: float, most: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._keep_s = keep_s
        self._most = most
        self._clock = clock
        self._known: OrderedDict[str, tuple[float, V]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: str) -> V | None:
        """As long as it was put lately: a use does not make it younger."""
        with self._lock:
            known = self._known.get(key)
            if known is None:
                return None
            until_s, value = known
            if until_s <= self._clock():
                del self._known[key]
                return None
            self._known.move_to_end(key)
            return value

    def put(self, key: str, value: V) -> None:
        with self._lock:
            self._known[key] = self._clock() + self._keep_s, value
            self._known.move_to_end(key)
            if len(self._known) > self._most:
                self._known.popitem(last=False)

    def forget(self, key: str) -> None:
        with self._lock:
            self._known.pop(key, None)
