"""Reads submissions in `tests/` with their expected codes, as in DMOJ's test suite."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from deemster.domain.expectation import CaseRule, Expectation
from deemster.domain.problem import ExampleSubmission, Group
from deemster.domain.verdict import Verdict
from deemster.problems.archive.names import clean_name
from deemster.problems.formats.dmoj.init_file import Kilobytes, Seconds
from deemster.problems.formats.yaml_file import (
    FileModel,
    checked,
    key_error,
    mapping_of,
    read_yaml,
)

PLACE = "tests"
FILES = ("test.yml", "test.posix.yml", "test.linux.yml")
"""Later files override earlier ones."""
CODES = {
    "AC": {Verdict.ACCEPTED, Verdict.PARTIAL},
    "WA": {Verdict.WRONG_ANSWER, Verdict.PARTIAL},
    "TLE": {Verdict.TIME_LIMIT},
    "MLE": {Verdict.MEMORY_LIMIT},
    "OLE": {Verdict.OUTPUT_LIMIT},
    "RTE": {Verdict.RUNTIME_ERROR},
    "IR": {Verdict.RUNTIME_ERROR},
    "CE": {Verdict.COMPILE_ERROR},
    "IE": {Verdict.JUDGE_ERROR},
    "SC": set[Verdict](),
}
"""A partially accepted case may count as AC or WA. SC: the case was not run."""
IGNORED = (
    "points", "points_cases", "score", "score_cases", "feedback", "feedback_cases",
    "extended_feedback", "extended_feedback_cases",
)  # fmt: skip
SUBMISSION_CODES = frozenset({"CE", "IE"})
"""Codes of a submission, not of a case."""

Codes = str | list[str]


class TestFile(FileModel):
    language: str
    source: str | list[str]
    time: Seconds
    memory: Kilobytes
    expect: Codes = "AC"
    cases: list[Codes] | dict[int, Codes] = Field(default_factory=list)
    points: Any = None
    points_cases: Any = None
    score: Any = None
    score_cases: Any = None
    feedback: Any = None
    feedback_cases: Any = None
    extended_feedback: Any = None
    extended_feedback_cases: Any = None
    skip: bool = False
    arch: list[str] | None = None


@dataclass(frozen=True, slots=True)
class TestSubmissions:
    submissions: tuple[ExampleSubmission, ...]
    time_s: float | None
    """The longest time limit of the submissions."""
    memory_kb: int | None
    ignored_keys: tuple[str, ...] = ()
    """Keys of the files that have no effect here."""


def read_test_submissions(root: Path, tests: Group) -> TestSubmissions:
    names = [case.name for case in tests.cases()]
    found: list[ExampleSubmission] = []
    times, memories = [], []
    ignored: dict[str, None] = {}
    for place in sorted((root / PLACE).glob("*/")):
        file = read_test_file(place)
        if file is None or file.skip or (file.arch and "amd64" not in file.arch):
            continue
        times.append(file.time)
        memories.append(file.memory)
        found += submissions_of(root, f"{PLACE}/{place.name}", file, names)
        ignored |= dict.fromkeys(key for key in IGNORED if getattr(file, key) is not None)
    max_time, max_memory = max(times, default=None), max(memories, default=None)
    return TestSubmissions(tuple(found), max_time, max_memory, tuple(ignored))


def read_test_file(place: Path) -> TestFile | None:
    values: dict[str, object] = {}
    for name in FILES:
        if (place / name).is_file():
            key_path = f"{PLACE}/{place.name}/{name}"
            values |= mapping_of(read_yaml(place / name, key_path), key_path)
    if not values:
        return None
    return checked(TestFile, values, f"{PLACE}/{place.name}/{FILES[0]}")


def submissions_of(
    root: Path, place: str, file: TestFile, names: list[str]
) -> Iterator[ExampleSubmission]:
    key_path = f"{place}/{FILES[0]}"
    expectation = expectation_of(file, names, key_path)
    sources = [file.source] if isinstance(file.source, str) else file.source
    for source in sources:
        path = clean_name(f"{place}/{source}")
        if not (root / path).is_file():
            raise key_error(
                key_path, "source", f"names {source!r}, which does not exist: add it."
            )
        yield ExampleSubmission(path, label_of(file), expectation, file.language)


def label_of(file: TestFile) -> str:
    if file.cases:
        each = file.cases if isinstance(file.cases, list) else list(file.cases.values())
        return "/".join(",".join(codes_of(codes)) for codes in each)
    return ",".join(codes_of(file.expect))


def expectation_of(file: TestFile, names: list[str], key_path: str) -> Expectation:
    """One rule for all cases, or one for each case."""
    everywhere = verdicts_of(file.expect, f"{key_path}: expect", key_path)
    own = own_codes(file)
    rules = [CaseRule(permitted=everywhere)] if not own else []
    for number, name in enumerate(names, start=1):
        if own:
            codes = own.get(number, file.expect)
            rules.append(
                CaseRule(name, permitted=verdicts_of(codes, f"cases.{number}", key_path))
            )
    expected = codes_of(file.expect)
    verdicts: tuple[Verdict, ...] = ()
    if set(expected) <= SUBMISSION_CODES and not own:
        verdicts = tuple(verdict for code in expected for verdict in CODES[code])
        rules = []
    elif expected == ["AC"] and not own:
        verdicts = (Verdict.ACCEPTED, Verdict.PARTIAL)
    return Expectation(verdicts, tuple(rules))


def own_codes(file: TestFile) -> Mapping[int, Codes]:
    if isinstance(file.cases, dict):
        return file.cases
    return dict(enumerate(file.cases, start=1))


def codes_of(given: Codes) -> list[str]:
    if given == "*":
        return list(CODES)
    return [given] if isinstance(given, str) else given


def verdicts_of(given: Codes, key: str, key_path: str) -> frozenset[Verdict]:
    codes = codes_of(given)
    for code in codes:
        if code not in CODES:
            raise key_error(key_path, key, f"has the code '{code[:20]}', which is not known.")
    return frozenset(verdict for code in codes for verdict in CODES[code])
