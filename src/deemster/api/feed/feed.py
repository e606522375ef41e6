"""Reads new events from the database, once for all subscribers of this process."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import structlog

from deemster.api.feed.messages import EventMessage
from deemster.api.feed.subscriptions import Subscriber, Subscriptions, Topic
from deemster.api.feed.watchers import Watchers
from deemster.domain.errors import Unavailable
from deemster.domain.ids import AccountId, WorkId, work_id
from deemster.store import events
from deemster.store.events import LAST_ID, ChangedWork, EventCursor, Snapshot
from deemster.store.pool import Connection, DatabaseDown, Pool, connection

BUSY_S: Final = 0.1
"""Longest time between two reads while there are subscribers; notices may be lost."""
IDLE_S: Final = 0.25
GATHER_S: Final = 0.005
"""Shortest time between two reads: many notices in a row cause few reads."""
GATHER_UNAWAITED_S: Final = 0.05
"""The same while nobody waits for events: cached responses may be older by so much."""
HELD_BACK_S: Final = 0.002
"""First pause if an event waits for an earlier transaction; the next ones are longer."""
PROGRESS_S: Final = 1.0
BATCH: Final = 500
"""Events that one statement reads."""

OnEvent = Callable[[ChangedWork], None]
OnSettled = Callable[[WorkId], None]
log = structlog.get_logger()


class Feed:
    """Subscribers of one submission get its events as soon as they are committed, because these
    can't overtake each other. Subscribers of many submissions get events in the order of their
    cursors, so that one cursor says all that they have seen; an event waits until all
    transactions that began before its own have ended.
    """

    def __init__(
        self, pool: Pool, wait: Callable[[float], Awaitable[object]] = asyncio.sleep
    ) -> None:
        """`wait` returns when other processes have committed events, or after the timeout. The
        payloads that it may return name what has a verdict.
        """
        self.pool = pool
        self._wait = wait
        self.subscriptions = Subscriptions()
        self.streams: Counter[AccountId] = Counter()
        """Open streams of each account in this process."""
        self.waits: Counter[AccountId] = Counter()
        """Requests of each account that wait for a result in this process."""
        self.settled = Watchers()
        """Requests that wait until the verdict of a submission is known."""
        self._callbacks: list[OnEvent] = []
        self._settled_callbacks: list[OnSettled] = []
        self._snapshot: Snapshot | None = None
        self._cursor = EventCursor(0, 0)
        """All events up to here were delivered in order."""
        self._newest = 0
        """The newest transaction that wrote events."""
        self._reads = 0
        """The number of the newest read."""
        self._last_success = 0
        """The number of the newest read that succeeded."""
        self._reading = asyncio.Lock()
        self._was_read = True
        """Whether the last read succeeded."""
        self._is_draining = False

    def on_event(self, callback: OnEvent) -> None:
        """The callback gets each event at least once, and before any subscriber."""
        self._callbacks.append(callback)

    def on_settled(self, callback: OnSettled) -> None:
        """The callback gets what a notice names, before its events are read."""
        self._settled_callbacks.append(callback)

    @contextmanager
    def subscribe(self, topic: Topic) -> Iterator[Subscriber]:
        """Subscribe before you read past events, so that none is missed in between."""
        subscriber = Subscriber(topic, self._cursor)
        if self._is_draining:
            subscriber.close()
        self.subscriptions.add(subscriber)
        try:
            yield subscriber
        finally:
            self.subscriptions.remove(subscriber)

    @contextmanager
    def count_stream(self, account: AccountId) -> Iterator[None]:
        with counted(self.streams, account):
            yield

    @contextmanager
    def count_wait(self, account: AccountId) -> Iterator[None]:
        with counted(self.waits, account):
            yield

    async def wait_until_settled(
        self,
        submission: WorkId,
        wait_s: float,
        is_settled: Callable[[], Awaitable[bool]],
    ) -> None:
        """Waits until the verdict is known, or there will be none; then cached responses are up
        to date (H1, S5).
        """
        with self.settled.watching(submission) as settled:
            if await is_settled():
                await self.catch_up()  # drops cached responses that are older
            elif not self._is_draining:
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait_s):
                        await settled.wait()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow())
            group.create_task(self._follow_progress())

    async def start(self) -> None:
        """Raises `Unavailable` if the database was never reached."""
        if self._snapshot is None:
            await self.catch_up()

    async def catch_up(self) -> None:
        """Reads all that was committed before this call. Concurrent callers share a read. If it
        fails, one of them reads again, and if that fails too, all others give up.
        """
        wanted = self._reads + 1
        async with self._reading:
            if self._last_success >= wanted:
                return
            if self._reads > wanted:
                raise DatabaseDown("The newest events could not be read: try again.")
            await self._read_next()

    async def _read_next(self) -> None:
        self._reads += 1
        was_read, self._was_read = self._was_read, False
        try:
            async with connection(self.pool) as acquired:
                await self._read(acquired, after_failure=not was_read)
        except asyncio.CancelledError:
            self._reads -= 1  # it says nothing about the database
            raise
        self._was_read = True
        self._last_success = self._reads

    def drain(self) -> None:
        """Closes all subscribers before the process ends; they reconnect elsewhere."""
        self._is_draining = True
        self._close_all()

    async def _follow(self) -> None:
        is_connected = True
        held_back_s = HELD_BACK_S
        while True:
            try:
                await self.catch_up()
            except Unavailable as fault:
                if is_connected:
                    log.warning("events.interrupted", error=str(fault))
                is_connected = False
            except Exception:
                # All streams of this process need this loop, so it goes on.
                log.exception("events.crashed")
            else:
                if not is_connected:
                    log.info("events.resumed")
                is_connected = True
            period_s = BUSY_S if self._is_awaited else IDLE_S
            if not self._holds_back:
                held_back_s = HELD_BACK_S
            elif held_back_s < period_s:
                period_s = held_back_s
                held_back_s *= 2
            await self._pause(period_s)

    @property
    def _is_awaited(self) -> bool:
        return bool(len(self.subscriptions) or len(self.settled))

    async def _pause(self, max_s: float) -> None:
        """Returns when events are to be read: soon after a notice, or after this time."""
        now = asyncio.get_running_loop().time
        began, is_notified = now(), False
        await asyncio.sleep(min(GATHER_S, max_s))
        while True:
            gather_s = GATHER_S if self._is_awaited else GATHER_UNAWAITED_S
            wanted_s = min(gather_s, max_s) if is_notified else max_s
            left_s = began + wanted_s - now()
            if left_s <= 0:
                return
            payloads = await self._wait(left_s)
            is_notified = is_notified or now() < began + wanted_s
            self._wake_named(payloads)

    def _wake_named(self, payloads: object) -> None:
        """Wakes those who wait for what the notices name: they need no events."""
        for payload in payloads if isinstance(payloads, list) else ():
            for work in map(work_id, str(payload).split()):
                for callback in self._settled_callbacks:
                    callback(work)
                self.settled.wake(work)

    @property
    def _holds_back(self) -> bool:
        """Whether an event waits until all transactions before its own have ended."""
        return self.subscriptions.has_ordered and self._newest > self._cursor.xact

    async def _read(self, acquired: Connection, *, after_failure: bool) -> None:
        if self._snapshot is None:
            await self._begin(acquired)
            return
        snapshot, changes = await events.changed_since(acquired, self._snapshot)
        if snapshot.xmin < self._snapshot.xmin:
            log.warning("events.restarted")  # the database was replaced by an older one
            await self._begin(acquired)
            self._close_all()
            return
        submissions = {each.work for each in changes if each.work in self.subscriptions}
        if after_failure:
            # After a crash or a failover, the server may assign transaction numbers again that
            # this process has already seen; events of these transactions would be missed.
            submissions = self.subscriptions.submissions() | set(map(work_id, self.settled))
        found = await events.list_of_work(acquired, submissions) if submissions else []
        self._snapshot = snapshot
        self._newest = max([self._newest, *(each.xact for each in changes)])
        for change in changes:
            for callback in self._callbacks:
                callback(change)
        for message in map(EventMessage, found):
            for subscriber in self.subscriptions.of_work(message.event.work):
                subscriber.offer(message)
        settled = {each.work for each in changes if each.is_settled}
        for work in settled | {each.work for each in found if each.is_settled}:
            self.settled.wake(work)
        await self._deliver_ordered(acquired, snapshot)

    async def _begin(self, acquired: Connection) -> None:
        await events.reset_future_transactions(acquired)
        self._snapshot = await events.current_snapshot(acquired)
        self._cursor = self._snapshot.cursor
        self._newest = 0

    async def _deliver_ordered(self, acquired: Connection, snapshot: Snapshot) -> None:
        end = min(EventCursor(self._newest, LAST_ID), snapshot.cursor)
        while self._cursor < end and self.subscriptions.has_ordered:
            found = await events.list_after(
                acquired, self._cursor, before=snapshot.xmin, limit=BATCH
            )
            for message in map(EventMessage, found):
                for subscriber in self.subscriptions.ordered(message):
                    subscriber.offer(message)
            if len(found) < BATCH:
                break
            self._cursor = found[-1].cursor
        self._cursor = max(self._cursor, snapshot.cursor)

    async def _follow_progress(self) -> None:
        while True:
            await asyncio.sleep(PROGRESS_S)
            running = self.subscriptions.running()
            if not running:
                continue
            try:
                async with connection(self.pool) as acquired:
                    found = await events.running_progress(acquired, running)
            except Unavailable:
                continue  # _follow logs it
            except Exception:
                log.exception("events.progress_crashed")
                continue
            for submission, progress in found.items():
                for subscriber in self.subscriptions.of_work(submission):
                    subscriber.show_progress(progress)

    def _close_all(self) -> None:
        for subscriber in self.subscriptions:
            subscriber.close()
        self.settled.wake_all()


@contextmanager
def counted(counts: Counter[AccountId], account: AccountId) -> Iterator[None]:
    counts[account] += 1
    try:
        yield
    finally:
        counts[account] -= 1
        if not counts[account]:
            del counts[account]
