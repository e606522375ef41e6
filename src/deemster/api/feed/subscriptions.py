"""Subscribers of this process, their topics, and the messages that wait to be sent to them."""

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from deemster.api.feed.messages import EventMessage
from deemster.domain.ids import AccountId, ContestId, WorkId, work_id
from deemster.domain.submission import JudgingProgress
from deemster.store.events import EventCursor

MAX_PENDING: Final = 2_000
"""Several times what one read of the feed brings: a client with more is too slow."""
ALL_TOPICS: Final = ""


@dataclass(frozen=True, slots=True)
class Topic:
    """The events that a subscriber gets: those that match all given ids."""

    work: WorkId | None = None
    account: AccountId | None = None
    contest: ContestId | None = None
    for_admin: bool = False
    """Includes trials of rejudgings, and reasons."""

    def includes(self, message: EventMessage) -> bool:
        event = message.event
        return (
            (self.work is None or event.work == self.work)
            and (self.account is None or event.account == self.account)
            and (self.contest is None or event.contest == self.contest)
            and (self.for_admin or not event.staged)
        )

    @property
    def key(self) -> str:
        return self.work or self.account or self.contest or ALL_TOPICS


class Subscriber:
    __slots__ = (
        "_cases_taken",
        "_max_pending",
        "_new_progress",
        "_pending",
        "_progress",
        "_wake",
        "is_closed",
        "is_running",
        "start",
        "topic",
    )

    def __init__(
        self, topic: Topic, start: EventCursor | None, max_pending: int = MAX_PENDING
    ) -> None:
        self.topic = topic
        self.start = start
        """The feed delivers all events after this one."""
        self.is_closed = False
        self.is_running = False
        """Whether the topic's submission runs, according to the last event that was sent."""
        self._progress: JudgingProgress | None = None
        self._new_progress: JudgingProgress | None = None
        self._cases_taken = 0
        self._max_pending = max_pending
        self._pending: deque[EventMessage] = deque()
        self._wake = asyncio.Event()

    def offer(self, message: EventMessage) -> None:
        if self.is_closed or not self.topic.includes(message):
            return
        if len(self._pending) >= self._max_pending:
            self.close()
            return
        self._pending.append(message)
        self._wake.set()

    def show_progress(self, progress: JudgingProgress) -> None:
        if progress != self._progress:
            self._progress = self._new_progress = progress
            self._wake.set()

    def take_progress(self) -> JudgingProgress | None:
        """Returns new progress once, with the cases that it did not return before."""
        progress, self._new_progress = self._new_progress, None
        if not self.is_running:
            self._cases_taken = 0
        if progress is None or not self.is_running:
            return None
        # Another attempt has judged fewer cases.
        known = self._cases_taken if self._cases_taken <= len(progress.cases) else 0
        self._cases_taken = len(progress.cases)
        return replace(progress, cases=progress.cases[known:])

    def close(self) -> None:
        """Drops pending messages; the client gets them when it reconnects with its last id."""
        self.is_closed = True
        self._pending.clear()
        self._wake.set()

    async def wait(self, timeout_s: float | None = None) -> list[EventMessage]:
        """Returns no message if only progress, the end or the timeout came."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._wake.wait()
        self._wake.clear()
        messages = list(self._pending)
        self._pending.clear()
        return messages


class Subscriptions:
    def __init__(self) -> None:
        # By id of any kind: prefixes keep the kinds apart, and topics are checked anyway.
        self._groups: dict[str, set[Subscriber]] = {}
        self._ordered = 0

    def __len__(self) -> int:
        return sum(map(len, self._groups.values()))

    def __iter__(self) -> Iterator[Subscriber]:
        return iter([each for group in self._groups.values() for each in group])

    def __contains__(self, submission: WorkId) -> bool:
        return submission in self._groups

    @property
    def has_ordered(self) -> bool:
        """Whether a subscriber's topic covers more than one submission."""
        return self._ordered > 0

    def add(self, subscriber: Subscriber) -> None:
        self._groups.setdefault(subscriber.topic.key, set()).add(subscriber)
        self._ordered += subscriber.topic.work is None

    def remove(self, subscriber: Subscriber) -> None:
        key = subscriber.topic.key
        self._groups[key].discard(subscriber)
        if not self._groups[key]:
            del self._groups[key]
        self._ordered -= subscriber.topic.work is None

    def of_work(self, submission: WorkId) -> Iterator[Subscriber]:
        for subscriber in self._groups.get(submission, ()):
            if subscriber.topic.work is not None:
                yield subscriber

    def ordered(self, message: EventMessage) -> Iterator[Subscriber]:
        """Subscribers of many submissions whose topic may include the message."""
        event = message.event
        for key in (event.account, event.contest, ALL_TOPICS):
            if key is None:
                continue
            for subscriber in self._groups.get(key, ()):
                if subscriber.topic.work is None:
                    yield subscriber

    def submissions(self) -> set[WorkId]:
        """Submissions with subscribers of their own."""
        return {each.topic.work for each in self if each.topic.work is not None}

    def running(self) -> list[WorkId]:
        """Submissions with subscribers of their own that have seen them start."""
        return [
            work_id(key)
            for key, group in self._groups.items()
            if any(each.is_running for each in group)
        ]
