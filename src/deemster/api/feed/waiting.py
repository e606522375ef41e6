"""Waits until a submission has ended; it is the feed that looks, not each who waits (H1)."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from deemster.api.feed.feed import Feed
from deemster.api.feed.subscriber import Subscriber, Topic
from deemster.domain.ids import SubmissionId

LONGEST_S: Final = 30.0


async def until_ended(
    feed: Feed,
    submission: SubmissionId,
    wait_s: float,
    has_ended: Callable[[], Awaitable[bool]],
) -> None:
    """Until it has, or for so long. What the caller reads then is as new as that."""
    with feed.listening(Topic(submission=submission, for_admin=True)) as listener:
        if await has_ended():
            await feed.catch_up()  # so that nothing older is remembered of it
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(min(wait_s, LONGEST_S)):
                await last_one(listener)


async def last_one(listener: Subscriber) -> None:
    while not listener.is_closed:
        if any(each.event.is_final for each in await listener.wait()):
            return
