"""Errors of the queue store."""

from typing import ClassVar

from deemster.domain.errors import LostRace, Unavailable


class QueueDown(Unavailable):
    """The store does not answer. Nothing is lost: jobs wait in the database."""

    code: ClassVar[str] = "queue_down"


class LostLock(LostRace):
    """Another worker has the job, or the store was wiped."""

    code: ClassVar[str] = "lost_lock"
