"""How long a slot's turn takes while there is work: the base of the estimates (A4)."""

from typing import Final

WEIGHT: Final = 0.02
"""Of the newest turn. Turns differ by a hundred times, so a mean of a few says little: with a
fifth, every other estimate for a mixed line would be off by more than a quarter."""


class CycleTime:
    def __init__(self) -> None:
        self.mean_s: float | None = None
        self._turns = 0

    def add(self, turn_s: float) -> None:
        """The first turn counts only until there is a second: it had everything to fetch."""
        self._turns += 1
        if self.mean_s is None:
            self.mean_s = turn_s
        else:
            weight = max(WEIGHT, 1 / (self._turns - 1))
            self.mean_s += weight * (turn_s - self.mean_s)
