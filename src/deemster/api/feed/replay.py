"""Reads the past events of a stream, from the last event that its client has seen."""

from typing import Final, Protocol

from deemster.api.feed.subscriptions import Topic
from deemster.domain.ids import WorkId
from deemster.store import events
from deemster.store.events import FIRST_XACT, EventCursor, WorkEvent
from deemster.store.pool import Connection

BATCH: Final = 500


class Replay(Protocol):
    last: EventCursor | None
    """The last event that was sent."""

    def is_new(self, event: WorkEvent) -> bool: ...

    async def read(self, acquired: Connection) -> tuple[list[WorkEvent], bool]:
        """Returns the next events, and whether there may be more."""
        ...


class WorkReplay:
    """All events of a submission after the last one seen.

    A cursor that is not one of its events comes from another stream, or from before the
    database was restored. Then all events are sent: better to repeat some than to miss any.
    """

    def __init__(self, submission: WorkId, last: EventCursor | None) -> None:
        self._submission = submission
        self.last = last

    def is_new(self, event: WorkEvent) -> bool:
        return self.last is None or event.cursor.id > self.last.id

    async def read(self, acquired: Connection) -> tuple[list[WorkEvent], bool]:
        found = await events.list_of_work(acquired, [self._submission])
        if self.last not in [each.cursor for each in found]:
            self.last = None
        return [each for each in found if self.is_new(each)], False


class OrderedReplay:
    """The events of a topic after a cursor; without one, no past events."""

    def __init__(self, topic: Topic, last: EventCursor | None) -> None:
        self._topic = topic
        self.last = last

    def is_new(self, event: WorkEvent) -> bool:
        return self.last is None or event.cursor > self.last

    async def read(self, acquired: Connection) -> tuple[list[WorkEvent], bool]:
        if self.last is None:
            return [], False
        before = (await events.current_snapshot(acquired)).xmin
        # A cursor in the future comes from before this database was restored.
        cursor = self.last if self.last.xact < before else EventCursor(FIRST_XACT, self.last.id)
        topic = self._topic
        if topic.account is None:
            found = await events.list_after(
                acquired, cursor, before=before, limit=BATCH, contest=topic.contest
            )
        else:
            found = await events.list_of_account(
                acquired,
                topic.account,
                cursor,
                before=before,
                limit=BATCH,
                contest=topic.contest,
                with_staged=topic.for_admin,
            )
        self.last = found[-1].cursor if found else cursor
        return found, len(found) == BATCH
