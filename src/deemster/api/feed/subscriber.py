"""One who listens: what has come for them and was not sent yet, and never more than so much."""

import asyncio
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from deemster.api.feed.message import EventMessage
from deemster.domain.ids import AccountId, ContestId, SubmissionId
from deemster.domain.submission import JudgingProgress
from deemster.store.events import EventCursor

MOST_KEPT: Final = 2_000
"""Several times what one look brings: who can't take that reads too slowly."""


@dataclass(frozen=True, slots=True)
class Topic:
    """What someone may hear of; all given must be so."""

    submission: SubmissionId | None = None
    account: AccountId | None = None
    contest: ContestId | None = None
    for_admin: bool = False
    """Trials too, and reasons."""

    def includes(self, notice: EventMessage) -> bool:
        event = notice.event
        return (
            (self.submission is None or event.submission == self.submission)
            and (self.account is None or event.account == self.account)
            and (self.contest is None or event.contest == self.contest)
            and (self.for_admin or not event.staged)
        )


class Subscriber:
    __slots__ = (
        "_kept",
        "_most",
        "_news",
        "_progress",
        "_wake",
        "began",
        "is_closed",
        "is_running",
        "topic",
    )

    def __init__(self, topic: Topic, began: EventCursor | None, most: int = MOST_KEPT) -> None:
        self.topic = topic
        self.began = began
        """All after it comes by itself."""
        self.is_closed = False
        self.is_running = False
        """Of a submission's listener: by what was told last."""
        self._progress: JudgingProgress | None = None
        self._news: JudgingProgress | None = None
        self._most = most
        self._kept: deque[EventMessage] = deque()
        self._wake = asyncio.Event()

    def offer(self, notice: EventMessage) -> None:
        if self.is_closed or not self.topic.includes(notice):
            return
        if len(self._kept) >= self._most:
            self.close()
            return
        self._kept.append(notice)
        self._wake.set()

    def show(self, progress: JudgingProgress) -> None:
        if progress != self._progress:
            self._progress = self._news = progress
            self._wake.set()

    def take_progress(self) -> JudgingProgress | None:
        """What was shown last, once."""
        news, self._news = self._news, None
        return news

    def close(self) -> None:
        """What was not sent is dropped; who comes back with their mark gets it then."""
        self.is_closed = True
        self._kept.clear()
        self._wake.set()

    async def wait(self, timeout_s: float | None = None) -> list[EventMessage]:
        """What came; nothing, if it was only progress, the end, or too long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._wake.wait()
        self._wake.clear()
        came = list(self._kept)
        self._kept.clear()
        return came
