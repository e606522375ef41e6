"""All kinds of answers that are remembered, and for how long (C3)."""

from dataclasses import dataclass
from typing import Final

MINUTE_S: Final = 60.0
HOUR_S: Final = 60 * MINUTE_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    name: str
    """`namespace:entity`, with which its keys begin."""
    fresh_s: float
    """For so long it is told without a second thought."""
    kept_s: float
    """Until then it is told once more while a newer one is looked up."""
    absent_s: float
    """For so long it is known that there is nothing."""


class Public(Kind):
    """The same for everyone who may ask; only these may lie in Redis."""

    __slots__ = ()


class Local(Public):
    """The same for everyone, and made in this process anyway."""

    __slots__ = ()


class Private(Kind):
    """Made for one account: never leaves this process (C4)."""

    __slots__ = ()


PROBLEM_LIST: Final = Public(name="problems:list", fresh_s=30, kept_s=10 * MINUTE_S, absent_s=0)
PROBLEM: Final = Public(name="problems:detail", fresh_s=30, kept_s=HOUR_S, absent_s=2)
LANGUAGES: Final = Local(
    name="languages:list", fresh_s=24 * HOUR_S, kept_s=24 * HOUR_S, absent_s=0
)
PROFILE: Final = Private(
    name="people:profile", fresh_s=5 * MINUTE_S, kept_s=5 * MINUTE_S, absent_s=0
)
CATALOGUE: Final = Private(name="problems:mine", fresh_s=30, kept_s=5 * MINUTE_S, absent_s=0)
STATUS: Final = Private(name="submissions:status", fresh_s=3, kept_s=3, absent_s=1)
MINE: Final = Private(name="submissions:mine", fresh_s=30, kept_s=30, absent_s=0)
RUNNING_S: Final = 1.0
"""How old the progress of a program that runs may be."""

KINDS: Final[tuple[Kind, ...]] = (
    PROBLEM_LIST,
    PROBLEM,
    LANGUAGES,
    PROFILE,
    CATALOGUE,
    STATUS,
    MINE,
)
