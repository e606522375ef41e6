"""Counts each subject's changes for use in cache keys, so that old entries are not found."""

from collections import OrderedDict
from typing import Final

MAX_SUBJECTS: Final = 50_000


class KeyVersions:
    """A subject's version never goes back, even after the subject was dropped from memory."""

    def __init__(self, max_subjects: int = MAX_SUBJECTS) -> None:
        self._max_subjects = max_subjects
        self._versions: OrderedDict[str, int] = OrderedDict()
        self._last = 0
        self._default = 0
        """Version of subjects that are not in memory: the highest that was ever dropped."""

    def of(self, subject: str) -> int:
        return self._versions.get(subject, self._default)

    def bump(self, subject: str) -> None:
        self._last += 1
        self._versions[subject] = self._last
        self._versions.move_to_end(subject)
        if len(self._versions) > self._max_subjects:
            _, dropped = self._versions.popitem(last=False)
            self._default = max(self._default, dropped)

    def bump_all(self) -> None:
        self._versions.clear()
        self._last += 1
        self._default = self._last
