"""Reads the cases and batches of `init.yml` and their points.

A batch earns the lowest share that one of its cases earns. After a failed case or batch without
points (a pretest) judging ends, so that all later ones require it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deemster.domain.errors import Refused
from deemster.domain.problem import Aggregation, Case, Checker, Comparison, Group, Subtask
from deemster.problems.formats.dmoj.checkers import args_of_case, read_checker
from deemster.problems.formats.dmoj.init_file import (
    EMPTY,
    FILE,
    CaseDefaults,
    CaseEntry,
    InitFile,
    NamePatterns,
    archived_names,
    find_file,
    inherited,
    parse_entry,
    refused,
)
from deemster.problems.formats.dmoj.patterns import find_cases
from deemster.problems.formats.yaml_file import checked, mapping_of

DEFAULT_POINTS = 1.0


@dataclass(frozen=True, slots=True)
class CaseOrBatch:
    """A case, or a batch of them."""

    group: Group
    is_batch: bool
    points: float


@dataclass(slots=True)
class CaseReader:
    root: Path
    init: InitFile
    checker: Checker
    """The checker of the problem."""
    has_interactor: bool
    binary_paths: set[str] = field(default_factory=set)
    """Paths of binary data, whose line endings stay."""
    _count: int = 0
    _batches: list[str] = field(default_factory=list)

    def read(self) -> Group:
        entries = [
            *self._entries(self.init.pretest_test_cases or [], "pretest_test_cases", 0.0),
            *self._entries(given_cases(self.root, self.init), "test_cases", None),
        ]
        if not entries:
            raise Refused(f"{FILE} has no test cases: add some.")
        total = sum(entry.points for entry in entries)
        has_pretests = any(not entry.points for entry in entries[:-1])
        items = (
            with_requirements(entries)
            if has_pretests
            else [without_group(entry) for entry in entries]
        )
        grading = Subtask(total, Aggregation.SUM, whole_score_only=False)
        return Group("", tuple(items), grading, stop_at_reject=False)

    def _entries(
        self, given: list[dict[str, Any]], key_path: str, points: float | None
    ) -> Iterator[CaseOrBatch]:
        for number, values in enumerate(given):
            key = f"{key_path}.{number}"
            entry = parse_entry(values, key)
            worth = self._points(entry) if points is None else points
            if entry.batched is None:
                yield self._single(entry, key, worth)
            else:
                yield self._batch(entry, key, worth)

    def _points(self, entry: CaseEntry) -> float:
        found = inherited("points", entry, self.init)
        return DEFAULT_POINTS if found is None else float(found)

    def _single(self, entry: CaseEntry, key_path: str, points: float) -> CaseOrBatch:
        if entry.dependencies:
            raise refused(f"{key_path}.dependencies", "is only for batches: remove it.")
        name = f"case{self._count + 1}"
        case = self._case((entry,), key_path, "", points)
        how = Aggregation.SUM if points else Aggregation.ALL_OR_NOTHING
        grading = Subtask(points, how, whole_score_only=False)
        return CaseOrBatch(Group(name, (case,), grading), is_batch=False, points=points)

    def _batch(self, entry: CaseEntry, key_path: str, points: float) -> CaseOrBatch:
        assert entry.batched is not None
        name = f"batch{len(self._batches) + 1}"
        cases = []
        for number, values in enumerate(entry.batched):
            key = f"{key_path}.batched.{number}"
            inner = parse_entry(values, key)
            if inner.batched is not None:
                raise refused(f"{key}.batched", "stands in a batch: write one level only.")
            cases.append(self._case((inner, entry), key, f"{name}/", None))
        if not cases:
            raise refused(f"{key_path}.batched", "holds no case: add one.")
        how = Aggregation.MIN if points else Aggregation.ALL_OR_NOTHING
        requires = tuple(self._required(each, key_path) for each in entry.dependencies)
        self._batches.append(name)
        grading = Subtask(points, how, requires, whole_score_only=False)
        return CaseOrBatch(Group(name, tuple(cases), grading), is_batch=True, points=points)

    def _required(self, number: int, key_path: str) -> str:
        if number > len(self._batches):
            raise refused(
                f"{key_path}.dependencies", f"names batch {number}, which isn't before."
            )
        return self._batches[number - 1]

    def _case(
        self, levels: tuple[CaseEntry, ...], key_path: str, above: str, points: float | None
    ) -> Case:
        self._count += 1
        whole: tuple[CaseDefaults, ...] = (*levels, self.init)
        own = inherited("checker", *levels)
        checker = None if own is None else read_checker(self.root, own, f"{key_path}.checker")
        given, answer = inherited("in_", *whole), inherited("out", *whole)
        if inherited("generator", *whole) is not None and not (given and answer):
            raise refused(
                f"{key_path}.generator",
                "makes the data of this case, which can't be done here: run it, and give the "
                "files by 'in' and 'out'.",
            )
        seconds, kilobytes = inherited("time_limit", *whole), inherited("memory_limit", *whole)
        case = Case(
            name=f"{above}{self._count}",
            input=find_file(self.root, given, f"{key_path}.in") if given else "",
            answer=self._answer(answer, key_path, checker or self.checker),
            checker=checker,
            checker_args=args_of_case(checker or self.checker, points),
            points=points,
            time_ms=None if seconds is None else max(1, round(seconds * 1000)),
            memory_bytes=None if kilobytes is None else kilobytes * 1024,
        )
        if inherited("binary_data", *whole):
            self.binary_paths |= {case.input, case.answer}
        return case

    def _answer(self, name: str | None, key_path: str, checker: Checker) -> str:
        if name:
            return find_file(self.root, name, f"{key_path}.out")
        compared = isinstance(checker, Comparison) and not self.has_interactor
        return EMPTY if compared else ""


def given_cases(root: Path, init: InitFile) -> list[dict[str, Any]]:
    if isinstance(init.test_cases, list):
        return init.test_cases
    values: Mapping[str, Any] = mapping_of(init.test_cases, FILE, "test_cases")
    formats = checked(NamePatterns, values, FILE, "test_cases")
    if init.archive is None:
        raise refused(
            "test_cases",
            "lists no cases, and without an 'archive' none are searched: list them.",
        )
    points = DEFAULT_POINTS if init.points is None else float(init.points)
    return find_cases(archived_names(root), formats, points)


def without_group(entry: CaseOrBatch) -> Group | Case:
    """A single case without dependencies needs no group."""
    if entry.is_batch:
        return entry.group
    case = entry.group.items[0]
    assert isinstance(case, Case)
    return case


def with_requirements(entries: list[CaseOrBatch]) -> Iterator[Group]:
    pretests: tuple[str, ...] = ()
    for entry in entries:
        group = entry.group
        grading = group.grading
        assert isinstance(grading, Subtask)
        requires = (*pretests, *(each for each in grading.requires if each not in pretests))
        yield regraded(group, grading, requires)
        if not entry.points:
            pretests = (*pretests, group.name)


def regraded(group: Group, grading: Subtask, requires: tuple[str, ...]) -> Group:
    locked = Subtask(grading.max_score, grading.aggregation, requires, whole_score_only=False)
    return Group(group.name, group.items, locked, stop_at_reject=group.stop_at_reject)
