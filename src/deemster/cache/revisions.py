"""How often something changed, as far as this process heard: old keys are asked no more."""

from collections import OrderedDict
from typing import Final

MOST_KNOWN: Final = 50_000


class Revisions:
    """A number for each subject that never goes back, also when it is forgotten itself."""

    def __init__(self, most: int = MOST_KNOWN) -> None:
        self._most = most
        self._known: OrderedDict[str, int] = OrderedDict()
        self._last = 0
        self._floor = 0
        """Of all that are not known: as high as any that was known."""

    def of(self, subject: str) -> int:
        return self._known.get(subject, self._floor)

    def bump(self, subject: str) -> None:
        self._last += 1
        self._known[subject] = self._last
        self._known.move_to_end(subject)
        if len(self._known) > self._most:
            _, highest = self._known.popitem(last=False)
            self._floor = max(self._floor, highest)

    def bump_all(self) -> None:
        self._known.clear()
        self._last += 1
        self._floor = self._last
