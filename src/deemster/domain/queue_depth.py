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
class Depth:
    """Of one queue."""

    waiting: int
    active: int
    delayed: int
    failed: int = 0

    @property
    def undone(self) -> int:
        """What nobody has begun: a delayed job waits too, for room or for its turn."""
        return self.waiting + self.delayed


class Signal(StrEnum):
    HEALTHY = "healthy"
    BUSY = "busy"
    SCALE_WORKERS = "scale_workers"
    INCIDENT = "incident"


SIGNALS: Final = ((50, Signal.HEALTHY), (500, Signal.BUSY), (5000, Signal.SCALE_WORKERS))
"""Up to so many, it is that."""

ALARM_ABOVE: Final[dict[QueueName, int]] = {
    QueueName.CRITICAL: 100,
    QueueName.DEFAULT: 300,
    QueueName.LOW: 500,
}


def signal_of(undone: int) -> Signal:
    return next((signal for most, signal in SIGNALS if undone <= most), Signal.INCIDENT)


def is_alarming(queue: QueueName, undone: int) -> bool:
    return undone > ALARM_ABOVE[queue]
