"""The similarity of two programs: matching regions, shares, and which one came first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T", bound=str)


@dataclass(frozen=True, slots=True)
class Lines:
    file: int
    """Number of the file, counted from 0 in the order of their names."""
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class MatchingRegion:
    """Lines of two programs that have the same symbols."""

    left: Lines
    right: Lines


@dataclass(frozen=True, slots=True)
class Match(Generic[T]):
    """Two similar programs. The left one came first."""

    left: T
    right: T
    left_share: float
    """Part of the left program, from 0 to 1, that the right one has too; without template
    code and common code."""
    right_share: float
    symbols: int
    """Number of symbols that match, in the program that has fewer of them."""
    regions: Sequence[MatchingRegion]

    @property
    def similarity(self) -> float:
        return max(self.left_share, self.right_share)


def clusters(pairs: Iterable[tuple[T, T]]) -> list[list[T]]:
    """Groups programs that are connected by pairs; the largest group first."""
    parents: dict[T, T] = {}

    def root(each: T) -> T:
        parents.setdefault(each, each)
        while parents[each] != each:
            parents[each] = parents[parents[each]]
            each = parents[each]
        return each

    for left, right in pairs:
        first, second = sorted((root(left), root(right)))
        parents[second] = first
    groups: dict[T, list[T]] = {}
    for each in sorted(parents):
        groups.setdefault(root(each), []).append(each)
    return sorted(groups.values(), key=lambda group: (-len(group), group[0]))
