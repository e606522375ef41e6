"""How deep the queues are, and what that says to who runs them: one table (D4)."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from deemster.domain.job import QueueName


class JobState(StrEnum):
    """Where a job can be, as the queue store sees it."""

    WAITING = "waiting"
    ACTIVE = "active"
    DELAYED = "delayed"
    FAILED = "failed"
    COMPLETED = "completed"


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """Of one queue."""

    waiting: int
    active: int
    delayed: int
    failed: int = 0

    @property
    def backlog(self) -> int:
        """What nobody has begun: a delayed job waits too, for room or for its turn."""
        return self.waiting + self.delayed


class LoadLevel(StrEnum):
    HEALTHY = "healthy"
    BUSY = "busy"
    SCALE_WORKERS = "scale_workers"
    INCIDENT = "incident"


LOAD_LEVELS: Final = (
    (50, LoadLevel.HEALTHY),
    (500, LoadLevel.BUSY),
    (5000, LoadLevel.SCALE_WORKERS),
)
"""Up to so many, it is that."""

ALARM_ABOVE: Final[dict[QueueName, int]] = {
    QueueName.CRITICAL: 100,
    QueueName.DEFAULT: 300,
    QueueName.LOW: 500,
}


def load_level(backlog: int) -> LoadLevel:
    return next((signal for most, signal in LOAD_LEVELS if backlog <= most), LoadLevel.INCIDENT)


def is_alarming(queue: QueueName, backlog: int) -> bool:
    return backlog > ALARM_ABOVE[queue]
