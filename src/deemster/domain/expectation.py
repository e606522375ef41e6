"""What the author of an example submission expects of it, and whether that came true."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from deemster.domain.verdict import Verdict

AC = frozenset({Verdict.ACCEPTED})
WA = frozenset({Verdict.WRONG_ANSWER, Verdict.OUTPUT_LIMIT})
TLE = frozenset({Verdict.TIME_LIMIT, Verdict.OUTPUT_LIMIT})
RTE = frozenset({Verdict.RUNTIME_ERROR, Verdict.MEMORY_LIMIT, Verdict.OUTPUT_LIMIT})
"""The four verdicts of the ICPC formats. Memory is a crash there. Too much output is none of
them: judges cut it off and find it wrong, slow or crashed, so each of these agrees with it."""


@dataclass(frozen=True, slots=True)
class CaseRule:
    """A rule over the cases that were run."""

    cases: str = ""
    """A pattern of names of cases or groups above them; empty: all."""
    permitted: frozenset[Verdict] | None = None
    required: frozenset[Verdict] | None = None
    message: str = ""
    """Must be part of what the jury is told of some case."""
    score: tuple[float, float] | None = None
    """Of the group that `cases` names, or of the submission."""


@dataclass(frozen=True, slots=True)
class Expectation:
    verdicts: tuple[Verdict, ...] = ()
    """One of these is the verdict of the submission; empty: any."""
    rules: tuple[CaseRule, ...] = ()
    time_bound: Literal["lower", "upper"] | None = None
    """`lower`: the time limit leaves it room. `upper`: the time limit must be below it."""
    not_best_score: bool = False
    """Legacy `partially_accepted`: accepted, and not with the best score."""


@dataclass(frozen=True, slots=True)
class ObservedCase:
    name: str
    verdict: Verdict
    jury_message: str = ""


@dataclass(frozen=True, slots=True)
class Observed:
    """What judging showed, as far as expectations speak of it."""

    verdict: Verdict
    cases: Sequence[ObservedCase]
    score: float | None = None
    best_score: float | None = None
    group_scores: "Sequence[tuple[str, float]]" = ()
    skipped: Sequence[str] = ()
    """Cases that were not run: what a rule requires may well be true of them."""


def disagreements(expectation: Expectation, seen: Observed) -> list[str]:
    """Each in one sentence; none when all came true."""
    found = list(disagreements_of_verdict(expectation, seen))
    for rule in expectation.rules:
        found.extend(disagreements_of_rule(rule, seen))
    return found


def disagreements_of_verdict(expectation: Expectation, seen: Observed) -> Iterable[str]:
    if expectation.verdicts and seen.verdict not in expectation.verdicts:
        yield f"The verdict is {seen.verdict}, expected {either(expectation.verdicts)}."
    best = seen.best_score is not None and seen.score == seen.best_score
    if expectation.not_best_score and best:
        yield f"It has the best score, {seen.score:g}: expected less."


def disagreements_of_rule(rule: CaseRule, seen: Observed) -> Iterable[str]:
    cases = [case for case in seen.cases if matches_name(rule.cases, case.name)]
    scope = f" in {rule.cases}" if rule.cases else ""
    if rule.permitted is not None:
        for case in cases:
            if case.verdict not in rule.permitted:
                allowed = either(sorted(rule.permitted))
                yield f"Case {case.name} is {case.verdict}, expected {allowed}."
                break
    if not any(matches_name(rule.cases, name) for name in seen.skipped):
        yield from lacks(rule, cases, scope)
    if rule.score is not None:
        yield from disagreements_of_score(rule, rule.score, seen)


def lacks(rule: CaseRule, cases: Sequence[ObservedCase], scope: str) -> Iterable[str]:
    if rule.required is not None and not any(c.verdict in rule.required for c in cases):
        yield f"No case{scope} is {either(sorted(rule.required))}."
    if rule.message and not any(rule.message in case.jury_message for case in cases):
        yield f"No message to the jury{scope} has {rule.message!r}."


def disagreements_of_score(
    rule: CaseRule, wanted: tuple[float, float], seen: Observed
) -> Iterable[str]:
    low, high = wanted
    scores = [score for name, score in seen.group_scores if names_group(rule.cases, name)]
    if not rule.cases:
        scores = [] if seen.score is None else [seen.score]
    for score in scores or [0.0]:
        if not low - 1e-9 <= score <= high + 1e-9:
            span = f"{low:g}" if low == high else f"{low:g} to {high:g}"
            scope = f" of {rule.cases}" if rule.cases else ""
            yield f"The score{scope} is {score:g}, not {span}."


def matches_name(pattern: str, name: str) -> bool:
    """Whether a pattern names a case or a group above it; `*` doesn't cross a `/`."""
    if not pattern:
        return True
    return any(matches_parts(each, name) for each in expand_braces(pattern))


def names_group(pattern: str, name: str) -> bool:
    """Whether a pattern names this very group, not one above it."""
    depth = name.count("/")
    fitting = [each for each in expand_braces(pattern) if each.strip("/").count("/") == depth]
    return any(matches_parts(each, name) for each in fitting)


def matches_parts(pattern: str, name: str) -> bool:
    wanted, given = pattern.strip("/").split("/"), name.split("/")
    if len(wanted) > len(given):
        return False
    return all(matches_part(*pair) for pair in zip(wanted, given, strict=False))


def matches_part(pattern: str, text: str) -> bool:
    """`*` stands for any text; nothing else is special."""
    first, *others = pattern.split("*")
    if not others:
        return pattern == text
    if not text.startswith(first):
        return False
    *middle, last = others
    at = len(first)
    for part in middle:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return text.endswith(last) and len(text) - len(last) >= at


def expand_braces(pattern: str) -> list[str]:
    """`a.{py,cpp}` is `a.py` and `a.cpp`."""
    opened = pattern.find("{")
    closed = pattern.find("}", opened)
    if opened < 0 or closed < 0:
        return [pattern]
    before, after = pattern[:opened], pattern[closed + 1 :]
    choices = pattern[opened + 1 : closed].split(",")
    return [one for choice in choices for one in expand_braces(before + choice + after)]


def either(verdicts: Sequence[Verdict]) -> str:
    return " or ".join(verdicts)
