"""The depth of the job queues, and the load levels and alarms derived from it (D4)."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from deemster.domain.job import QueueName


class JobState(StrEnum):
    """The state of a job in the queue store."""

    WAITING = "waiting"
    ACTIVE = "active"
    DELAYED = "delayed"
    FAILED = "failed"
    COMPLETED = "completed"


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """Number of jobs of one queue, by state."""

    waiting: int
    active: int
    delayed: int
    failed: int = 0

    @property
    def backlog(self) -> int:
        """Jobs that no worker has begun; delayed jobs wait too."""
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
"""The largest backlog at which each level still holds."""

ALARM_ABOVE: Final[dict[QueueName, int]] = {
    QueueName.CRITICAL: 100,
    QueueName.DEFAULT: 300,
    QueueName.INTERACTIVE: 100,
    QueueName.LOW: 500,
    QueueName.TRANSMIT: 300,
    QueueName.RECEIVE: 100,
}


def load_level(backlog: int) -> LoadLevel:
    return next((signal for most, signal in LOAD_LEVELS if backlog <= most), LoadLevel.INCIDENT)


def is_alarming(queue: QueueName, backlog: int) -> bool:
    return backlog > ALARM_ABOVE[queue]
