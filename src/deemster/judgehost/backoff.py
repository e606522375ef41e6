"""Pauses between tries: longer after each failure, and different on each host."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count


@dataclass(frozen=True, slots=True)
class Backoff:
    first_s: float = 0.2
    longest_s: float = 10.0
    tries: int | None = None
    """None: there is always another try."""

    def pauses(self) -> Iterator[float]:
        """Random, so that the hosts of a server that comes back do not all ask at once."""
        limit_s = self.first_s
        for _ in count() if self.tries is None else range(self.tries - 1):
            yield limit_s * random.uniform(0.5, 1)  # noqa: S311 - no secret
            limit_s = min(2 * limit_s, self.longest_s)
