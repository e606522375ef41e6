"""Stops asking a tier that failed several times in a row, for a while (P3)."""

import time
from collections.abc import Callable
from typing import Final

FAILURES: Final = 5
OPEN_S: Final = 30.0


class CircuitBreaker:
    """After `open_s`, one call is let through; if it succeeds, the circuit closes."""

    def __init__(
        self,
        *,
        failures: int = FAILURES,
        open_s: float = OPEN_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = failures
        self._open_s = open_s
        self._clock = clock
        self._failed = 0
        self._closed_at = 0.0

    def allows(self) -> bool:
        if self._failed < self._most:
            return True
        if self._clock() < self._closed_at:
            return False
        self._closed_at = self._clock() + self._open_s
        return True

    def succeeded(self) -> None:
        self._failed = 0

    def failed(self) -> None:
        self._failed += 1
        self._closed_at = self._clock() + self._open_s
