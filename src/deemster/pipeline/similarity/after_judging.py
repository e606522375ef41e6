"""Puts the comparison of programs off while submissions wait for a verdict (P6)."""

import time
from collections.abc import Awaitable, Callable
from typing import Final

from deemster.store import submissions
from deemster.store.pool import Pool, connection

LONGEST_S: Final = 600.0
"""Longest time for which it is put off: some services are never idle."""


class AfterJudging:
    """Judging needs the same cores, and people wait for it."""

    def __init__(
        self, pool: Pool, compare: Callable[[], Awaitable[int]], longest_s: float = LONGEST_S
    ) -> None:
        self._pool = pool
        self._compare = compare
        self._longest_s = longest_s
        self._ended_at = time.monotonic()

    async def run(self) -> int:
        """Returns what `compare` does, or 0 if it was put off."""
        if time.monotonic() < self._ended_at + self._longest_s:
            async with connection(self._pool) as acquired:
                if await submissions.count_urgent(acquired):
                    return 0
        try:
            return await self._compare()
        finally:
            self._ended_at = time.monotonic()
