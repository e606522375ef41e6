"""Pauses between tries: longer after each failure, and different on each host."""

import random
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    first_s: float = 0.2
    longest_s: float = 10.0

    def pauses(self) -> Iterator[float]:
        """Random, so that the hosts of a server that comes back do not all ask at once."""
        limit_s = self.first_s
        while True:
            yield limit_s * random.uniform(0.5, 1)  # noqa: S311 - no secret
            limit_s = min(2 * limit_s, self.longest_s)
