"""Delays the jobs of stages while submissions keep all slots of a worker busy (S5)."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from deemster.pipeline.queue.fetcher import DeliveredJob, Done, Handler, RetryLater

QUIET_S: Final = 0.2
"""Between two submissions of a long queue, a slot is free for a shorter time."""
PAUSE_FACTOR: Final = 20
"""Under permanent load stages go on, but take only about a twentieth of the time."""
SHORTEST_PAUSE_S: Final = 5.0
LONGEST_PAUSE_S: Final = 60.0
LOOK_S: Final = 0.05


class DelayedStages:
    """Makes stages wait while `is_busy()`, but not beyond their next turn."""

    def __init__(self, is_busy: Callable[[], bool]) -> None:
        self._is_busy = is_busy
        self._next_turn_s = 0.0

    def delay(self, handler: Handler) -> Handler:
        async def handle(delivered: DeliveredJob) -> Done | RetryLater:
            await self.until_turn()
            began_s = time.monotonic()
            try:
                return await handler(delivered)
            finally:
                self.pause_after(time.monotonic() - began_s)

        return handle

    def pause_after(self, took_s: float) -> None:
        pause_s = min(max(PAUSE_FACTOR * took_s, SHORTEST_PAUSE_S), LONGEST_PAUSE_S)
        self._next_turn_s = time.monotonic() + pause_s

    async def until_turn(self) -> None:
        began_s = busy_s = time.monotonic()
        next_turn_s = max(self._next_turn_s, began_s + SHORTEST_PAUSE_S)
        while True:
            now_s = time.monotonic()
            if self._is_busy():
                busy_s = now_s
            if now_s - busy_s >= QUIET_S or now_s >= next_turn_s:
                return
            await asyncio.sleep(LOOK_S)
