"""Closes when too many wait, and opens again only when clearly fewer do (D1)."""

from typing import ClassVar, Final

import structlog

from deemster.cache.single_flight import SingleFlightCache
from deemster.domain.errors import Unavailable
from deemster.store.pool import Pool, connection
from deemster.store.submissions import urgent
from deemster.store.workers import rate_per_s

log = structlog.get_logger()
KEPT_S: Final = 1.0
"""How old the depth may be that it goes by."""
SOONEST_S: Final = 5.0
LATEST_S: Final = 300.0


class Overloaded(Unavailable):
    """More wait than may."""

    code: ClassVar[str] = "overloaded"

    def __init__(self, message: str, retry_after_s: float = SOONEST_S) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class LoadShedder:
    def __init__(self, pool: Pool, *, high: int, low: int) -> None:
        self._pool = pool
        self._high = high
        self._low = low
        self._closed = False
        self._retry_after_s = SOONEST_S
        self._look: SingleFlightCache[None, None] = SingleFlightCache(
            self._measure, keep_s=KEPT_S
        )

    async def check(self) -> None:
        await self._look.get(None)
        if self._closed:
            raise Overloaded(
                "More submissions wait than can be judged in good time, so no more are taken "
                f"just now: try again in {self._retry_after_s:.0f} s.",
                self._retry_after_s,
            )

    async def _measure(self, _: None) -> None:
        async with connection(self._pool) as acquired:
            waiting = await urgent(acquired)
            per_s = await rate_per_s(acquired) if waiting >= self._low else None
        if self._closed and waiting <= self._low:
            log.info("floodgate.opened", waiting=waiting, low=self._low)
            self._closed = False
        elif not self._closed and waiting >= self._high:
            log.error("floodgate.closed", waiting=waiting, high=self._high)
            self._closed = True
        left_s = (waiting - self._low) / per_s if per_s else LATEST_S
        self._retry_after_s = min(max(left_s, SOONEST_S), LATEST_S)
