"""Looks for what happened, once for all who listen in this process, and hands it to them."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import structlog

from deemster.api.feed.message import EventMessage
from deemster.api.feed.subscriber import Subscriber, Topic
from deemster.api.feed.subscriptions import Subscriptions
from deemster.domain.errors import Unavailable
from deemster.domain.ids import AccountId
from deemster.store import events
from deemster.store.events import LAST_ID, ChangedSubmission, EventCursor, Snapshot
from deemster.store.pool import Connection, Pool, connection

BUSY_S: Final = 0.1
"""Between two looks while someone listens."""
IDLE_S: Final = 0.25
PROGRESS_S: Final = 1.0
AT_ONCE: Final = 500
"""Events that are read by one statement."""

OnEvent = Callable[[ChangedSubmission], None]
log = structlog.get_logger()


class Feed:
    """Two ways for two needs. Who listens to one submission hears as soon as a step is
    committed: its events can't overtake each other. Who listens to many hears in the order of
    marks, so that one mark says all they have seen: an event waits there for transactions that
    began before its own.
    """

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.audience = Subscriptions()
        self.streams: Counter[AccountId] = Counter()
        """How many each account has open in this process."""
        self._callbacks: list[OnEvent] = []
        self._seen: Snapshot | None = None
        self._mark = EventCursor(0, 0)
        """In order, all up to here was handed out."""
        self._newest = 0
        """The last transaction that was seen to have made events."""
        self._looks = 0
        self._looking = asyncio.Lock()
        self._is_sure = True
        """Nothing came between the last two looks."""
        self._is_draining = False

    def on_event(self, callback: OnEvent) -> None:
        """Called before anyone who listens is told, at least once for each event."""
        self._callbacks.append(callback)

    @contextmanager
    def listening(self, topic: Topic) -> Iterator[Subscriber]:
        """From now on: who reads afterwards what is past misses nothing in between."""
        listener = Subscriber(topic, self._mark)
        if self._is_draining:
            listener.close()
        self.audience.add(listener)
        try:
            yield listener
        finally:
            self.audience.remove(listener)

    @contextmanager
    def counted(self, account: AccountId) -> Iterator[None]:
        """As one more stream of theirs."""
        self.streams[account] += 1
        try:
            yield
        finally:
            self.streams[account] -= 1
            if not self.streams[account]:
                del self.streams[account]

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow())
            group.create_task(self._show_progress())

    async def start(self) -> None:
        """Raises `Unavailable` as long as the database was never there."""
        if self._seen is None:
            await self.catch_up()

    async def catch_up(self) -> None:
        """Sees all that was committed before this call. Many who ask at once share a look."""
        wanted = self._looks + 1
        async with self._looking:
            if self._looks < wanted:
                self._looks += 1
                is_sure, self._is_sure = self._is_sure, False
                async with connection(self.pool) as acquired:
                    await self._look(acquired, is_sure=is_sure)
                self._is_sure = True

    def drain(self) -> None:
        """The process is about to end: who listens goes elsewhere."""
        self._is_draining = True
        self._close_all()

    async def _follow(self) -> None:
        is_well = True
        while True:
            try:
                await self.catch_up()
            except Unavailable as fault:
                if is_well:
                    log.warning("events.interrupted", error=str(fault))
                is_well = False
            except Exception:
                # All streams of this process hang on it, so it goes on.
                log.exception("events.crashed")
            else:
                if not is_well:
                    log.info("events.resumed")
                is_well = True
            await asyncio.sleep(BUSY_S if len(self.audience) else IDLE_S)

    async def _look(self, acquired: Connection, *, is_sure: bool) -> None:
        if self._seen is None:
            await self._begin(acquired)
            return
        seen, touches = await events.changed_since(acquired, self._seen)
        if seen.xmin < self._seen.xmin:
            log.warning("events.restarted")  # another database, restored under the same address
            await self._begin(acquired)
            self._close_all()
            return
        listened = {each.submission for each in touches if each.submission in self.audience}
        if not is_sure:
            # A server that crashed, or a standby in its place, may give numbers of transactions
            # once more that were seen to end: what they write would be taken for known.
            listened = self.audience.submissions()
        own = await events.list_of_submissions(acquired, listened) if listened else []
        self._seen = seen
        self._newest = max([self._newest, *(each.xact for each in touches)])
        for touch in touches:
            for callback in self._callbacks:
                callback(touch)
        for notice in map(EventMessage, own):
            for listener in self.audience.of_submission(notice.event.submission):
                listener.offer(notice)
        await self._hand_out(acquired, seen)

    async def _begin(self, acquired: Connection) -> None:
        await events.reset_future_transactions(acquired)
        self._seen = await events.current_snapshot(acquired)
        self._mark = self._seen.cursor
        self._newest = 0

    async def _hand_out(self, acquired: Connection, seen: Snapshot) -> None:
        """To those who hear in order."""
        end = min(EventCursor(self._newest, LAST_ID), seen.cursor)
        while self._mark < end and self.audience.has_ordered:
            found = await events.list_after(
                acquired, self._mark, before=seen.xmin, limit=AT_ONCE
            )
            for notice in map(EventMessage, found):
                for listener in self.audience.in_order(notice):
                    listener.offer(notice)
            if len(found) < AT_ONCE:
                break
            self._mark = found[-1].cursor
        self._mark = max(self._mark, seen.cursor)

    async def _show_progress(self) -> None:
        while True:
            await asyncio.sleep(PROGRESS_S)
            running = self.audience.running()
            if not running:
                continue
            try:
                async with connection(self.pool) as acquired:
                    found = await events.running_progress(acquired, running)
            except Unavailable:
                continue  # the other loop says so
            except Exception:
                log.exception("events.progress_crashed")
                continue
            for submission, progress in found.items():
                for listener in self.audience.of_submission(submission):
                    listener.show(progress)

    def _close_all(self) -> None:
        for listener in self.audience:
            listener.close()
