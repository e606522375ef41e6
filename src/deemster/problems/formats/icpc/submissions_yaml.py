"""Reads `submissions.yaml` of 2025-09: the expected results of submissions."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BeforeValidator, StrictBool

from deemster.domain.expectation import (
    AC,
    RTE,
    TLE,
    WA,
    CaseRule,
    Expectation,
    TimeBound,
    expand_braces,
    matches_name,
)
from deemster.domain.verdict import Verdict
from deemster.problems.formats.icpc.field_types import People, ShortVerdict, is_number
from deemster.problems.formats.icpc.folder import Folder
from deemster.problems.formats.icpc.labels import ordered
from deemster.problems.formats.yaml_file import (
    FileModel,
    InvalidValue,
    checked,
    key_error,
    mapping_of,
)

FILE = "submissions/submissions.yaml"
VERDICTS: dict[str, frozenset[Verdict]] = {"AC": AC, "WA": WA, "TLE": TLE, "RTE": RTE}
ALL: tuple[ShortVerdict, ...] = ("AC", "WA", "TLE", "RTE")
UNSUPPORTED = re.compile(r"\*\*|[\[\]?!]")
MAX_ALTERNATIVES = 1_000
"""Most names that the braces of one pattern may stand for."""

DEFAULTS: Mapping[str, Mapping[str, object]] = {
    "accepted": {"permitted": ["AC"]},
    "rejected": {"required": ["RTE", "TLE", "WA"]},
    "wrong_answer": {"permitted": ["AC", "WA"], "required": ["WA"]},
    "time_limit_exceeded": {"permitted": ["AC", "TLE"], "required": ["TLE"]},
    "run_time_error": {"permitted": ["AC", "RTE"], "required": ["RTE"]},
    "brute_force": {"permitted": ["AC", "RTE", "TLE"], "required": ["RTE", "TLE"]},
}


def as_score(value: object) -> object:
    if is_number(value):
        return (value, value)
    if isinstance(value, list) and len(value) == 2 and all(map(is_number, value)):
        if value[0] > value[1]:
            raise InvalidValue("must have its smaller number first.")
        return tuple(value)
    raise InvalidValue("must be a number, or a list of two: [10, 20].")


def as_time_use(value: object) -> object:
    if value not in (True, False, "lower", "upper"):
        raise InvalidValue("must be true, false, lower or upper.")
    return value


class CaseExpectation(FileModel):
    """Expected results for all cases, or for those that match a pattern."""

    permitted: tuple[ShortVerdict, ...] | None = None
    required: tuple[ShortVerdict, ...] | None = None
    score: Annotated[tuple[float, float], BeforeValidator(as_score)] | None = None
    message: str = ""
    use_for_time_limit: Annotated[
        bool | Literal["lower", "upper"], BeforeValidator(as_time_use)
    ] = True


class ExpectationEntry(CaseExpectation):
    language: str | None = None
    entrypoint: str | None = None
    authors: People = ()
    model_solution: StrictBool = False


@dataclass(frozen=True, slots=True)
class Pattern:
    """An entry of the file: a pattern for submissions, and its expectations."""

    glob: str
    entry: ExpectationEntry
    parts: tuple[tuple[str, CaseExpectation], ...] = ()
    """Expectations for the cases that match a pattern."""

    def demands(self) -> Iterable[tuple[str, CaseExpectation]]:
        yield "", self.entry
        yield from self.parts


def read_patterns(folder: Folder, *, scoring: bool) -> list[Pattern]:
    """The default directories, changed and extended by the file."""
    given = folder.read_map(FILE)
    said: dict[str, dict[str, object]] = {}
    for name, value in given.items():
        values = mapping_of(value, FILE, name)
        said[clean_pattern(name, name)] = values
    changed = {
        name: values
        for pattern, values in said.items()
        for name in expand_braces(pattern)
        if name in DEFAULTS
    }
    patterns = [
        read_pattern(name, {**default, **changed.get(name, {})}, scoring=scoring)
        for name, default in DEFAULTS.items()
    ]
    patterns += [
        read_pattern(name, values, scoring=scoring)
        for name, values in said.items()
        if not changed.keys() >= set(expand_braces(name))
    ]
    return patterns


def read_pattern(glob: str, values: Mapping[str, object], *, scoring: bool) -> Pattern:
    own = {key: value for key, value in values.items() if key in ExpectationEntry.model_fields}
    others = {key: value for key, value in values.items() if key not in own}
    entry = checked(ExpectationEntry, own, FILE, glob)
    parts: list[tuple[str, CaseExpectation]] = []
    for name, value in others.items():
        if name.strip("/").split("/")[0] not in {"sample", "secret", "*"} and "{" not in name:
            # Not a pattern of cases but a misspelt key.
            checked(ExpectationEntry, {name: value}, FILE, glob)
        where = f"{glob}.{name}"
        demand = checked(CaseExpectation, mapping_of(value, FILE, where), FILE, where)
        parts.append((clean_pattern(name, where), demand))
    pattern = Pattern(glob, entry, tuple(parts))
    for name, each in pattern.demands():
        if each.score is not None and not scoring:
            where = f"{glob}.{name}.score" if name else f"{glob}.score"
            raise key_error(FILE, where, "is only for scoring problems: remove it.")
    return pattern


def clean_pattern(pattern: str, key: str) -> str:
    """The pattern as `matches_name` expects it."""
    if UNSUPPORTED.search(pattern):
        raise key_error(FILE, key, "has a pattern with more than * and {a,b}: write it out.")
    if (pattern.count(",") + 1) ** pattern.count("{") > MAX_ALTERNATIVES:
        raise key_error(FILE, key, "has a pattern for too many names: write less braces.")
    return pattern.strip("/")


# ---- matching ----


@dataclass(frozen=True, slots=True)
class SubmissionExpectation:
    """The merged entries of all patterns that match a submission."""

    expectation: Expectation
    language: str | None = None
    entry: str | None = None
    is_model: bool = False


def find_expectation(
    folder: Folder, name: str, patterns: Iterable[Pattern], *, scoring: bool
) -> SubmissionExpectation | None:
    """None: no pattern matches the submission."""
    matching = [pattern for pattern in patterns if matches_name(pattern.glob, name)]
    if not matching:
        return None
    rules: list[CaseRule] = []
    bounds: list[tuple[str, TimeBound]] = []
    for pattern in matching:
        for cases, demand in pattern.demands():
            rules.extend(rules_of(cases, demand))
            bound = bound_of(demand)
            if bound is not None:
                bounds.append((cases, bound))
    permitted, required = rules_for_submission(rules)
    if not permitted:
        raise key_error(
            FILE, name, "has no permitted verdict: its patterns contradict each other."
        )
    if any(not permitted & each for each in required):
        folder.warn(f"{FILE}: {name} must get a verdict that it isn't permitted.")
    expectation = Expectation(
        verdicts=final_verdicts(permitted, required, scoring=scoring),
        rules=tuple(rules),
        time_bound=bound_of_all(bounds),
        group_bounds=tuple(each for each in bounds if each[0]),
    )
    return SubmissionExpectation(
        expectation,
        language=last_given(folder, name, "language", [p.entry.language for p in matching]),
        entry=last_given(folder, name, "entrypoint", [p.entry.entrypoint for p in matching]),
        is_model=any(pattern.entry.model_solution for pattern in matching),
    )


def bound_of_all(bounds: Iterable[tuple[str, TimeBound]]) -> TimeBound | None:
    """The bound for all cases; patterns of cases do not count."""
    found = {bound for cases, bound in bounds if not cases}
    return "upper" if "upper" in found else "lower" if found else None


def rules_of(cases: str, demand: CaseExpectation) -> Iterable[CaseRule]:
    permitted, required = demand.permitted, demand.required
    if demand.use_for_time_limit == "lower":
        permitted = tuple(each for each in permitted or ALL if each != "TLE")
    if demand.use_for_time_limit == "upper":
        required = ("TLE",)
    if permitted is None and required is None and not demand.message and demand.score is None:
        return
    yield CaseRule(
        cases=cases,
        permitted=union(permitted),
        required=union(required),
        message=demand.message,
        score=demand.score,
    )


def union(words: Iterable[str] | None) -> frozenset[Verdict] | None:
    """None if all four verdicts are given: then there is nothing to check."""
    if words is None or set(words) == set(ALL):
        return None
    return frozenset().union(*(VERDICTS[word] for word in words))


def bound_of(demand: CaseExpectation) -> TimeBound | None:
    use = demand.use_for_time_limit
    if not isinstance(use, bool):
        return use
    if not use:
        return None
    if demand.required is not None and set(demand.required) == {"TLE"}:
        return "upper"
    if demand.permitted is not None and "TLE" not in demand.permitted:
        return "lower"
    return None


def rules_for_submission(
    rules: Iterable[CaseRule],
) -> tuple[frozenset[str], list[frozenset[str]]]:
    """The permitted verdicts of all cases, and the sets of which one case needs a verdict."""
    permitted = frozenset(ALL)
    required: list[frozenset[str]] = []
    for rule in rules:
        if rule.cases:
            continue
        permitted &= words_of(rule.permitted)
        if rule.required is not None:
            required.append(words_of(rule.required))
    return permitted, required


def words_of(verdicts: frozenset[Verdict] | None) -> frozenset[str]:
    if verdicts is None:
        return frozenset(ALL)
    return frozenset(word for word, each in VERDICTS.items() if each <= verdicts)


def final_verdicts(
    permitted: frozenset[str], required: list[frozenset[str]], *, scoring: bool
) -> tuple[Verdict, ...]:
    """The possible verdicts of the submission: judging ends at its first failure."""
    passes = all("AC" in each for each in required)
    possible = [word for word in ALL if word in permitted and (word != "AC" or passes)]
    verdicts = ordered(*(VERDICTS[word] for word in possible))
    return (*verdicts, Verdict.PARTIAL) if scoring and "AC" in permitted else verdicts


def last_given(folder: Folder, name: str, key: str, said: list[str | None]) -> str | None:
    """Directories come first, so that the entry of a single submission counts."""
    given = list(dict.fromkeys(each for each in said if each is not None))
    if len(given) > 1:
        folder.warn(f"{FILE}: {name} has several {key}s: {given[-1]} is used.")
    return given[-1] if given else None
