"""What goes wrong with a queue store, in our words."""

from typing import ClassVar

from deemster.domain.errors import LostRace, Unavailable


class QueueDown(Unavailable):
    """The store can't be reached or can't answer now; nothing is lost, ask again later."""

    code: ClassVar[str] = "queue_down"


class LostLock(LostRace):
    """The job is no longer ours: another worker has it, or the store was wiped."""

    code: ClassVar[str] = "lost_lock"
