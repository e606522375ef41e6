"""What is past of a stream, from where its client left off, in the order of what follows."""

from typing import Final, Protocol

from deemster.api.feed.subscriber import Topic
from deemster.domain.ids import SubmissionId
from deemster.store import events
from deemster.store.events import FIRST_XACT, EventCursor, SubmissionEvent
from deemster.store.pool import Connection

AT_ONCE: Final = 500


class Replay(Protocol):
    last: EventCursor | None
    """Of what was told."""

    def is_new(self, event: SubmissionEvent) -> bool: ...

    async def past(self, acquired: Connection) -> tuple[list[SubmissionEvent], bool]:
        """What comes next, and whether there may be more."""
        ...


class SubmissionReplay:
    """All of it from the beginning, unless some was told before; its ids are in order.

    A mark that is none of its own says nothing of that: it is another stream's, or is from
    before this database was restored. To hear it all again is better than to hear no end.
    """

    def __init__(self, submission: SubmissionId, last: EventCursor | None) -> None:
        self._submission = submission
        self.last = last

    def is_new(self, event: SubmissionEvent) -> bool:
        return self.last is None or event.cursor.id > self.last.id

    async def past(self, acquired: Connection) -> tuple[list[SubmissionEvent], bool]:
        found = await events.list_of_submissions(acquired, [self._submission])
        if self.last not in [each.cursor for each in found]:
            self.last = None
        return [each for each in found if self.is_new(each)], False


class OrderedReplay:
    """After a mark; without one, only what is to come."""

    def __init__(self, topic: Topic, last: EventCursor | None) -> None:
        self._topic = topic
        self.last = last

    def is_new(self, event: SubmissionEvent) -> bool:
        return self.last is None or event.cursor > self.last

    async def past(self, acquired: Connection) -> tuple[list[SubmissionEvent], bool]:
        if self.last is None:
            return [], False
        before = (await events.current_snapshot(acquired)).xmin
        # A mark of a time that has not come yet is from before this database was restored.
        mark = self.last if self.last.xact < before else EventCursor(FIRST_XACT, self.last.id)
        topic = self._topic
        if topic.account is None:
            found = await events.list_after(
                acquired, mark, before=before, limit=AT_ONCE, contest=topic.contest
            )
        else:
            found = await events.list_of_account(
                acquired,
                topic.account,
                mark,
                before=before,
                limit=AT_ONCE,
                contest=topic.contest,
                with_staged=topic.for_admin,
            )
        self.last = found[-1].cursor if found else mark
        return found, len(found) == AT_ONCE
