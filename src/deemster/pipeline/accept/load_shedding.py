"""Refuses new submissions while too many are waiting to be judged (D1)."""

from typing import ClassVar, Final

import structlog

from deemster.cache.single_flight import SingleFlightCache
from deemster.domain.errors import Unavailable
from deemster.store.pool import Pool, connection
from deemster.store.submissions import count_urgent
from deemster.store.workers import rate_per_s

log = structlog.get_logger()
KEPT_S: Final = 1.0
"""The queue depth is read at most once in this time."""
MIN_RETRY_S: Final = 5.0
MAX_RETRY_S: Final = 300.0


class Overloaded(Unavailable):
    """More submissions are waiting than the high watermark allows."""

    code: ClassVar[str] = "overloaded"

    def __init__(self, message: str, retry_after_s: float = MIN_RETRY_S) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class LoadShedder:
    """Starts to refuse at the high watermark, and stops only at the low one."""

    def __init__(self, pool: Pool, *, high: int, low: int) -> None:
        self._pool = pool
        self._high = high
        self._low = low
        self._refusing = False
        self._retry_after_s = MIN_RETRY_S
        self._measured: SingleFlightCache[None, None] = SingleFlightCache(
            self._measure, keep_s=KEPT_S
        )

    async def check(self) -> None:
        await self._measured.get(None)
        if self._refusing:
            raise Overloaded(
                "Too many submissions are waiting, so no new ones are accepted: "
                f"try again in {self._retry_after_s:.0f} s.",
                self._retry_after_s,
            )

    async def _measure(self, _: None) -> None:
        async with connection(self._pool) as acquired:
            waiting = await count_urgent(acquired)
            per_s = await rate_per_s(acquired) if waiting >= self._low else None
        if self._refusing and waiting <= self._low:
            log.info("load_shedding.stopped", waiting=waiting, low=self._low)
            self._refusing = False
        elif not self._refusing and waiting >= self._high:
            log.error("load_shedding.started", waiting=waiting, high=self._high)
            self._refusing = True
        wait_s = (waiting - self._low) / per_s if per_s else MAX_RETRY_S
        self._retry_after_s = min(max(wait_s, MIN_RETRY_S), MAX_RETRY_S)
