"""Finds pairs of similar programs of different authors, without comparing all pairs."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from deemster.domain.similarity import Lines, Match, MatchingRegion
from deemster.pipeline.similarity.fingerprints import SEQUENCE, WINDOW, Fingerprints

FEWEST_SYMBOLS: Final = 60
"""Programs with fewer symbols of their own are too short to judge; and two programs that
share fewer are not reported."""
LEAST_SIMILARITY: Final = 0.5
MIN_COMMON: Final = 10
MAX_COMMON: Final = 50
COMMON_PART: Final = 3
"""Code of every third author is common, within the two bounds: it proves nothing. The upper
bound also keeps the number of pairs from growing with the square of the authors."""
MAX_MATCHES: Final = 20
"""The most matches of one program that are kept, one for each other author."""
MAX_PER_AUTHOR: Final = 8
"""Of more programs of one author with the same code, only the first ones and the newest
count."""
FEWEST_FINGERPRINTS: Final = FEWEST_SYMBOLS // SEQUENCE
"""Programs that share fewer cannot share `FEWEST_SYMBOLS`."""
LARGEST_GAP: Final = SEQUENCE + WINDOW
"""Symbols between two parts of one region."""

T = TypeVar("T", bound=str)


@dataclass(frozen=True, slots=True)
class Program(Generic[T]):
    id: T
    """Of two programs the one with the smaller id came first."""
    author: str
    fingerprints: Fingerprints


def common_limit(authors: int) -> int:
    """The most authors who may share code that counts."""
    return max(MIN_COMMON, min(MAX_COMMON, authors // COMMON_PART))


class CommonCode:
    """Finds those of some fingerprints that too many authors share."""

    def __init__(self, hashes: Iterable[int], *, authors: int) -> None:
        self._limit = common_limit(authors)
        self._authors: dict[int, set[str]] = {value: set() for value in hashes}
        self.common: set[int] = set()

    def add(self, author: str, fingerprints: Fingerprints) -> None:
        for value in self._authors.keys() & set(fingerprints.hashes):
            found = self._authors[value]
            found.add(author)
            if len(found) > self._limit:
                self.common.add(value)
                del self._authors[value]


class CandidateSearch(Generic[T]):
    """Finds programs of other authors that share fingerprints with some wanted programs.

    All programs of the problem are added one after the other, in the order of their ids.
    """

    def __init__(self, wanted: Sequence[Program[T]], *, authors: int) -> None:
        self._wanted = wanted
        hashes = hashes_of(wanted)
        self._common = CommonCode(hashes, authors=authors)
        self._owners: dict[int, dict[str, list[T]]] = {value: {} for value in hashes}

    def add(self, program: Program[T]) -> None:
        self._common.add(program.author, program.fingerprints)
        for value in self._owners.keys() & set(program.fingerprints.hashes):
            if value in self._common.common:
                del self._owners[value]
                continue
            owned = self._owners[value].setdefault(program.author, [])
            if len(owned) == MAX_PER_AUTHOR:
                owned[-1] = program.id
            else:
                owned.append(program.id)

    def candidates(self) -> dict[T, list[T]]:
        """For each wanted program those to compare it with: the best one of each author."""
        return {program.id: self._best(program) for program in self._wanted}

    def _best(self, program: Program[T]) -> list[T]:
        shared: dict[str, Counter[T]] = {}
        for value in set(program.fingerprints.hashes) & self._owners.keys():
            for author, ids in self._owners[value].items():
                if author != program.author:
                    shared.setdefault(author, Counter()).update(ids)
        best = [min((-count, id_) for id_, count in each.items()) for each in shared.values()]
        enough = [(count, id_) for count, id_ in best if -count >= FEWEST_FINGERPRINTS]
        return [id_ for _, id_ in sorted(enough)[: 2 * MAX_MATCHES]]


def compare_all(programs: Sequence[Program[T]]) -> list[Match[T]]:
    """Finds all pairs of similar programs; the most similar pair is first."""
    authors = len({program.author for program in programs})
    search = CandidateSearch(programs, authors=authors)
    common = CommonCode(hashes_of(programs), authors=authors)
    for program in sorted(programs, key=lambda program: program.id):
        search.add(program)
        common.add(program.author, program.fingerprints)
    by_id = {program.id: program for program in programs}
    matches, _ = find_matches(search.candidates(), (), by_id, common.common)
    return matches


def hashes_of(programs: Iterable[Program[T]]) -> set[int]:
    return {value for program in programs for value in program.fingerprints.hashes}


def find_matches(
    candidates: Mapping[T, Iterable[T]],
    stored: Iterable[tuple[T, T]],
    programs: Mapping[T, Program[T]],
    common: AbstractSet[int],
) -> tuple[list[Match[T]], list[tuple[T, T]]]:
    """Returns the best matches of each program and those of the stored pairs, the most similar
    first, and the stored pairs that do not match any more.
    """
    tried: dict[tuple[T, T], Match[T] | None] = {}
    kept: dict[tuple[T, T], Match[T]] = {}

    def attempt(one: T, other: T) -> Match[T] | None:
        pair = (one, other) if one < other else (other, one)
        if pair not in tried and pair[0] in programs and pair[1] in programs:
            tried[pair] = match(programs[one], programs[other], common)
        return tried.get(pair)

    for one, others in candidates.items():
        found = [each for other in others if (each := attempt(one, other)) is not None]
        for each in sorted(found, key=most_similar_first)[:MAX_MATCHES]:
            kept[each.left, each.right] = each
    ended = []
    for pair in stored:
        again = attempt(*pair)
        if again is None:
            ended.append(pair)
        else:
            kept[pair] = again
    return sorted(kept.values(), key=most_similar_first), ended


def most_similar_first(found: Match[T]) -> tuple[float, float, T, T]:
    smaller = min(found.left_share, found.right_share)
    return -found.similarity, -smaller, found.left, found.right


def match(
    one: Program[T], other: Program[T], common: AbstractSet[int] = frozenset()
) -> Match[T] | None:
    """None if the programs are not similar, or too short to tell."""
    left, right = sorted((one, other), key=lambda program: program.id)
    shared = set(left.fingerprints.hashes) & set(right.fingerprints.hashes) - common
    left_own = covered(left.fingerprints, exclude=common)
    right_own = covered(right.fingerprints, exclude=common)
    left_shared = covered(left.fingerprints, only=shared)
    right_shared = covered(right.fingerprints, only=shared)
    symbols = min(left_shared, right_shared)
    if symbols < FEWEST_SYMBOLS:
        return None
    left_share, right_share = left_shared / left_own, right_shared / right_own
    if max(left_share, right_share) < LEAST_SIMILARITY:
        return None
    return Match(
        left=left.id,
        right=right.id,
        left_share=left_share,
        right_share=right_share,
        symbols=symbols,
        regions=tuple(regions(left.fingerprints, right.fingerprints, shared)),
    )


def covered(
    fingerprints: Fingerprints,
    *,
    only: AbstractSet[int] | None = None,
    exclude: AbstractSet[int] = frozenset(),
) -> int:
    """Counts the symbols in the sequences of these fingerprints."""
    count = end = 0
    for value, place in zip(fingerprints.hashes, fingerprints.places, strict=True):
        if value not in exclude and (only is None or value in only):
            count += place + SEQUENCE - max(place, end)
            end = place + SEQUENCE
    return count


def regions(
    left: Fingerprints, right: Fingerprints, shared: AbstractSet[int]
) -> Iterator[MatchingRegion]:
    """Joins shared fingerprints that follow each other in both programs."""
    indexes: dict[int, list[int]] = {}
    for index, value in enumerate(right.hashes):
        if value in shared:
            indexes.setdefault(value, []).append(index)
    begun: tuple[int, int] | None = None
    last = (0, 0)
    for index, value in enumerate(left.hashes):
        if value not in shared:
            continue
        follows = begun is not None and left.files[index] == left.files[last[0]]
        near = left.places[index] - left.places[last[0]] <= LARGEST_GAP
        other = follower(right, indexes[value], last[1]) if follows and near else None
        if begun is None or other is None:
            if begun is not None:
                yield region(left, right, begun, last)
            other = indexes[value][0]
            begun = (index, other)
        last = (index, other)
    if begun is not None:
        yield region(left, right, begun, last)


def follower(right: Fingerprints, indexes: Sequence[int], last: int) -> int | None:
    """The first of these fingerprints after the last one, if it is near and in its file."""
    position = bisect_right(indexes, last)
    if position == len(indexes):
        return None
    found = indexes[position]
    near = right.places[found] - right.places[last] <= LARGEST_GAP
    return found if near and right.files[found] == right.files[last] else None


def region(
    left: Fingerprints, right: Fingerprints, first: tuple[int, int], last: tuple[int, int]
) -> MatchingRegion:
    return MatchingRegion(lines(left, first[0], last[0]), lines(right, first[1], last[1]))


def lines(fingerprints: Fingerprints, first: int, last: int) -> Lines:
    ends = fingerprints.last_lines[first : last + 1]
    return Lines(fingerprints.files[first], fingerprints.first_lines[first], max(ends))
