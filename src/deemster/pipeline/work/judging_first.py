"""Lets the jobs of stages wait while submissions keep all slots of a worker busy (S5)."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from deemster.pipeline.queue.consumer import Consumer
from deemster.pipeline.queue.fetcher import DeliveredJob, Done, Handler, RetryLater

QUIET_S: Final = 0.2
"""Between two submissions of a long queue, a slot is free for a shorter time."""
LONGEST_WAIT_S: Final = 5.0
"""Under permanent load, stages go on slowly."""
LOOK_S: Final = 0.05


def judging_first(judging: Consumer, handler: Handler) -> Handler:
    async def handle(delivered: DeliveredJob) -> Done | RetryLater:
        await until_quiet(lambda: judging.is_full)
        return await handler(delivered)

    return handle


async def until_quiet(is_busy: Callable[[], bool]) -> None:
    began = busy_at = time.monotonic()
    while True:
        now = time.monotonic()
        if is_busy():
            busy_at = now
        if now - busy_at >= QUIET_S or now - began >= LONGEST_WAIT_S:
            return
        await asyncio.sleep(LOOK_S)
