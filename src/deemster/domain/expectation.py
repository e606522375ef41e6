"""The result that a package's author expects of an example submission, and its check."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from deemster.domain.errors import Refused
from deemster.domain.verdict import Verdict

TimeBound = Literal["lower", "upper"]
"""`lower`: the time limit must be well above the time. `upper`: below the time."""
INNER_BRACES = re.compile(r"\{([^{}]*)\}")
MAX_PATTERNS = 1000
"""To which the braces of one pattern may expand."""

AC = frozenset({Verdict.ACCEPTED})
WA = frozenset({Verdict.WRONG_ANSWER, Verdict.OUTPUT_LIMIT})
TLE = frozenset({Verdict.TIME_LIMIT, Verdict.OUTPUT_LIMIT})
RTE = frozenset({Verdict.RUNTIME_ERROR, Verdict.MEMORY_LIMIT, Verdict.OUTPUT_LIMIT})
"""The four verdicts of the ICPC formats, which count too much memory as a run-time error. They
have no verdict for too much output, which judges report as any of the last three."""


@dataclass(frozen=True, slots=True)
class CaseRule:
    """An expectation about the cases that were run."""

    cases: str = ""
    """Pattern for names of cases or of groups that contain them; empty: all cases."""
    permitted: frozenset[Verdict] | None = None
    required: frozenset[Verdict] | None = None
    message: str = ""
    """Text that the jury message of at least one case must contain."""
    score: tuple[float, float] | None = None
    """Lowest and highest score of the group that `cases` names, or of the submission."""


@dataclass(frozen=True, slots=True)
class Expectation:
    verdicts: tuple[Verdict, ...] = ()
    """Verdicts that the submission may get; empty: any."""
    rules: tuple[CaseRule, ...] = ()
    time_bound: TimeBound | None = None
    """For all cases of the submission."""
    group_bounds: tuple[tuple[str, TimeBound], ...] = ()
    """For the cases that match a pattern, in addition."""
    not_best_score: bool = False
    """Legacy `partially_accepted`: accepted with less than the best score."""

    @property
    def has_lower_bound(self) -> bool:
        return "lower" in {self.time_bound, *(bound for _, bound in self.group_bounds)}

    def is_lower_bound(self, case: str) -> bool:
        """Whether the time limit must be well above the time of this case."""
        bounds = {bound for cases, bound in self.group_bounds if matches_name(cases, case)}
        return {self.time_bound, *bounds} - {None} == {"lower"}


@dataclass(frozen=True, slots=True)
class ObservedCase:
    name: str
    verdict: Verdict
    jury_message: str = ""


@dataclass(frozen=True, slots=True)
class Observed:
    """The parts of a judgement that expectations refer to."""

    verdict: Verdict
    cases: Sequence[ObservedCase]
    score: float | None = None
    best_score: float | None = None
    group_scores: "Sequence[tuple[str, float]]" = ()
    skipped: Sequence[str] = ()
    """Names of cases that were not run: one of them might satisfy a requirement."""


def disagreements(expectation: Expectation, observed: Observed) -> list[str]:
    """One sentence for each expectation that is not met."""
    found = list(disagreements_of_verdict(expectation, observed))
    for rule in expectation.rules:
        found.extend(disagreements_of_rule(rule, observed))
    return found


def disagreements_of_verdict(expectation: Expectation, observed: Observed) -> Iterable[str]:
    if expectation.verdicts and observed.verdict not in expectation.verdicts:
        yield f"The verdict is {observed.verdict}, expected {either(expectation.verdicts)}."
    best = observed.best_score is not None and observed.score == observed.best_score
    if expectation.not_best_score and best:
        yield f"The score is the best one, {observed.score:g}: expected less."


def disagreements_of_rule(rule: CaseRule, observed: Observed) -> Iterable[str]:
    cases = [case for case in observed.cases if matches_name(rule.cases, case.name)]
    scope = f" in {rule.cases}" if rule.cases else ""
    if rule.permitted is not None:
        for case in cases:
            if case.verdict not in rule.permitted:
                allowed = either(sorted(rule.permitted))
                yield f"Case {case.name} is {case.verdict}, expected {allowed}."
                break
    if not any(matches_name(rule.cases, name) for name in observed.skipped):
        yield from unmet_requirements(rule, cases, scope)
    if rule.score is not None:
        yield from disagreements_of_score(rule, rule.score, observed)


def unmet_requirements(
    rule: CaseRule, cases: Sequence[ObservedCase], scope: str
) -> Iterable[str]:
    if rule.required is not None and not any(c.verdict in rule.required for c in cases):
        yield f"No case{scope} is {either(sorted(rule.required))}."
    if rule.message and not any(rule.message in case.jury_message for case in cases):
        yield f"No jury message{scope} contains {rule.message!r}."


def disagreements_of_score(
    rule: CaseRule, bounds: tuple[float, float], observed: Observed
) -> Iterable[str]:
    low, high = bounds
    scores = [score for name, score in observed.group_scores if names_group(rule.cases, name)]
    if not rule.cases:
        scores = [] if observed.score is None else [observed.score]
    for score in scores or [0.0]:
        if not low - 1e-9 <= score <= high + 1e-9:
            span = f"{low:g}" if low == high else f"{low:g} to {high:g}"
            scope = f" of {rule.cases}" if rule.cases else ""
            yield f"The score{scope} is {score:g}, not {span}."


def matches_name(pattern: str, name: str) -> bool:
    """Whether a pattern matches a case or a group that contains it; `*` matches no `/`."""
    if not pattern:
        return True
    return any(matches_parts(each, name) for each in expand_braces(pattern))


def names_group(pattern: str, name: str) -> bool:
    """Whether a pattern matches this group itself, not one that contains it."""
    depth = name.count("/")
    same_depth = (p for p in expand_braces(pattern) if p.strip("/").count("/") == depth)
    return any(matches_parts(each, name) for each in same_depth)


def matches_parts(pattern: str, name: str) -> bool:
    patterns, parts = pattern.strip("/").split("/"), name.split("/")
    if len(patterns) > len(parts):
        return False
    return all(matches_part(*pair) for pair in zip(patterns, parts, strict=False))


def matches_part(pattern: str, text: str) -> bool:
    """`*` matches any text; no other character is special."""
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
    """Turns `a.{py,cpp}` into `a.py` and `a.cpp`; braces may contain braces."""
    open_patterns, expanded = [pattern], list[str]()
    while open_patterns:
        each = open_patterns.pop()
        found = INNER_BRACES.search(each)
        if found is None:
            expanded.append(each)
            continue
        before, after = each[: found.start()], each[found.end() :]
        choices = [choice.strip() for choice in found[1].split(",")]
        open_patterns += [before + choice + after for choice in reversed(choices)]
        if len(open_patterns) + len(expanded) > MAX_PATTERNS:
            raise Refused(
                f"The pattern {pattern[:80]!r} stands for more than {MAX_PATTERNS} patterns: "
                "use fewer braces."
            )
    return list(dict.fromkeys(expanded))


def either(verdicts: Sequence[Verdict]) -> str:
    return " or ".join(verdicts)
