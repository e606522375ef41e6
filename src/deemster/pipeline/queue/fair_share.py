"""Which queue is asked first, so that free slots are shared by weight or by rank (Q8)."""

import math
from collections.abc import Iterable, Mapping

from deemster.domain.job import QUEUE_WEIGHTS, QueueName


class FairShare:
    """Start-time fair queueing: a queue that was empty has saved up nothing."""

    def __init__(
        self,
        queues: Iterable[QueueName],
        *,
        strict: bool,
        weights: Mapping[QueueName, int] = QUEUE_WEIGHTS,
    ) -> None:
        self.strict = strict
        self._ranked = sorted(queues, key=lambda queue: -weights[queue])
        whole = math.lcm(*(weights[queue] for queue in self._ranked))
        self._strides = {queue: whole // weights[queue] for queue in self._ranked}
        self._starts = dict.fromkeys(self._ranked, 0)
        self._now = 0

    def order(self) -> list[QueueName]:
        if self.strict:
            return self._ranked
        return sorted(self._ranked, key=self._start)

    def served(self, queue: QueueName) -> None:
        self._now = self._start(queue)
        self._starts[queue] = self._now + self._strides[queue]

    def _start(self, queue: QueueName) -> int:
        return max(self._starts[queue], self._now)
