"""The kinds of responses that are cached, and how long each is kept (C3)."""

from dataclasses import dataclass
from typing import Final

MINUTE_S: Final = 60.0
HOUR_S: Final = 60 * MINUTE_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    name: str
    """`namespace:entity`: the start of its keys."""
    fresh_s: float
    """For this time an entry is returned as it is."""
    kept_s: float
    """Until then an entry that is no longer fresh is returned while a new one is loaded."""
    absent_s: float
    """For this time the cache remembers that there is no value."""


class Public(Kind):
    """The same for every caller; only these kinds may be stored in Redis."""

    __slots__ = ()


class Local(Public):
    """The same for every caller, but each process builds its own."""

    __slots__ = ()


class Private(Kind):
    """Built for one account: it never leaves this process (C4)."""

    __slots__ = ()


PROBLEM_LIST: Final = Public(name="problems:list", fresh_s=30, kept_s=10 * MINUTE_S, absent_s=0)
PROBLEM: Final = Public(name="problems:detail", fresh_s=30, kept_s=HOUR_S, absent_s=2)
LANGUAGES: Final = Local(
    name="languages:list", fresh_s=24 * HOUR_S, kept_s=24 * HOUR_S, absent_s=0
)
PROFILE: Final = Private(
    name="people:profile", fresh_s=5 * MINUTE_S, kept_s=5 * MINUTE_S, absent_s=0
)
MY_PROBLEMS: Final = Private(name="problems:mine", fresh_s=30, kept_s=5 * MINUTE_S, absent_s=0)
STATUS: Final = Private(name="submissions:status", fresh_s=3, kept_s=3, absent_s=1)
RUNNING_STATUS_S: Final = 1.0
"""The status of a submission that is being judged is kept for this time only."""
MY_SUBMISSIONS: Final = Private(name="submissions:mine", fresh_s=30, kept_s=30, absent_s=0)

KINDS: Final[tuple[Kind, ...]] = (
    PROBLEM_LIST,
    PROBLEM,
    LANGUAGES,
    PROFILE,
    MY_PROBLEMS,
    STATUS,
    MY_SUBMISSIONS,
)
