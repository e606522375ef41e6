"""Who listens to what."""

from collections.abc import Iterator

from deemster.api.feed.message import EventMessage
from deemster.api.feed.subscriber import Subscriber, Topic
from deemster.domain.ids import SubmissionId

EVERYTHING = ""


class Subscriptions:
    def __init__(self) -> None:
        # Ids of all kinds: their prefixes keep them apart, and topics are looked at anyway.
        self._groups: dict[str, set[Subscriber]] = {}
        self._in_order = 0

    def __len__(self) -> int:
        return sum(map(len, self._groups.values()))

    def __iter__(self) -> Iterator[Subscriber]:
        return iter([each for group in self._groups.values() for each in group])

    def __contains__(self, submission: SubmissionId) -> bool:
        return submission in self._groups

    @property
    def has_ordered(self) -> bool:
        """Someone listens to more than one submission."""
        return self._in_order > 0

    def add(self, listener: Subscriber) -> None:
        self._groups.setdefault(key_of(listener.topic), set()).add(listener)
        self._in_order += listener.topic.submission is None

    def remove(self, listener: Subscriber) -> None:
        key = key_of(listener.topic)
        self._groups[key].discard(listener)
        if not self._groups[key]:
            del self._groups[key]
        self._in_order -= listener.topic.submission is None

    def of_submission(self, submission: SubmissionId) -> Iterator[Subscriber]:
        for listener in self._groups.get(submission, ()):
            if listener.topic.submission is not None:
                yield listener

    def in_order(self, notice: EventMessage) -> Iterator[Subscriber]:
        """Those who listen to many, whom it concerns."""
        event = notice.event
        for key in (event.account, event.contest, EVERYTHING):
            if key is None:
                continue
            for listener in self._groups.get(key, ()):
                if listener.topic.submission is None:
                    yield listener

    def submissions(self) -> set[SubmissionId]:
        """Those that are listened to one by one."""
        return {each.topic.submission for each in self if each.topic.submission is not None}

    def running(self) -> list[SubmissionId]:
        """Submissions that are listened to, and run as far as the listeners know."""
        return [SubmissionId(each) for each, group in self._groups.items() if any_runs(group)]


def any_runs(group: set[Subscriber]) -> bool:
    return any(each.is_running for each in group)


def key_of(topic: Topic) -> str:
    return topic.submission or topic.account or topic.contest or EVERYTHING
