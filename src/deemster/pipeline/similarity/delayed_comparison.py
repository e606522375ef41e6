"""Delays the comparison of programs while submissions wait for a verdict, for at most ten
minutes (P6).
"""

import time
from collections.abc import Awaitable, Callable
from typing import Final

from deemster.store import submissions
from deemster.store.pool import Pool, connection

LONGEST_S: Final = 600.0
"""Longest time for which the comparison is delayed: some services are never idle."""


class DelayedComparison:
    """Compares only when nobody waits for judging, which needs the same cores."""

    def __init__(
        self, pool: Pool, compare: Callable[[], Awaitable[int]], longest_s: float = LONGEST_S
    ) -> None:
        self._pool = pool
        self._compare = compare
        self._longest_s = longest_s
        self._ended_at = time.monotonic()

    async def run(self) -> int:
        """Returns the result of `compare`, or 0 if the comparison was delayed."""
        if time.monotonic() < self._ended_at + self._longest_s:
            async with connection(self._pool) as acquired:
                if await submissions.count_urgent(acquired):
                    return 0
        try:
            return await self._compare()
        finally:
            self._ended_at = time.monotonic()
