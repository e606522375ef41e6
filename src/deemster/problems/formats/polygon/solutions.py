"""Reads the solutions of a Polygon package and the results that their tags stand for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from deemster.domain.expectation import CaseRule, Expectation
from deemster.domain.problem import ExampleSubmission
from deemster.domain.verdict import Verdict
from deemster.problems.formats.polygon.document import Node, existing_file
from deemster.problems.formats.polygon.languages import program_language
from deemster.problems.formats.polygon.testset import group_name

OK = Verdict.ACCEPTED
WRONG = frozenset({Verdict.WRONG_ANSWER, Verdict.OUTPUT_LIMIT})
SLOW = frozenset({Verdict.TIME_LIMIT})
BIG = frozenset({Verdict.MEMORY_LIMIT})
CRASHED = frozenset({Verdict.RUNTIME_ERROR, Verdict.MEMORY_LIMIT})
ANY = WRONG | SLOW | CRASHED | {Verdict.COMPILE_ERROR}

FAILURES: dict[str, frozenset[Verdict]] = {
    "main": frozenset(),
    "accepted": frozenset(),
    "rejected": ANY,
    "incorrect": ANY,
    "wrong-answer": WRONG,
    "presentation-error": WRONG,
    "time-limit-exceeded": SLOW,
    "time-limit-exceeded-or-accepted": SLOW,
    "time-limit-exceeded-or-memory-limit-exceeded": SLOW | BIG,
    "memory-limit-exceeded": BIG,
    "failed": CRASHED,
    "runtime-error": CRASHED,
}
"""Verdicts with which a solution may fail, by tag; `failed` is Polygon's RE."""
MAY_PASS = frozenset({"main", "accepted", "time-limit-exceeded-or-accepted"})
NOT_RUN = "do-not-run"


def read_solutions(root: Path, document: Node, *, scoring: bool) -> Iterator[ExampleSubmission]:
    for node in document.children("assets/solutions/solution"):
        tag = tag_of(node)
        if tag == NOT_RUN:
            continue
        sources = list(node.children("source"))
        if len(sources) != 1:
            raise node.refused(f"has {len(sources)} sources instead of one")
        yield ExampleSubmission(
            path=existing_file(root, sources[0]),
            label=tag,
            expectation=expectation_of(node, tag, scoring=scoring),
            language=program_language(sources[0].get("type")),
            is_model=tag == "main",
        )


def tag_of(node: Node) -> str:
    tag = node.need("tag").lower().replace("_", "-")
    if tag not in FAILURES and tag != NOT_RUN:
        raise node.refused(f"has the unknown tag '{tag[:60]}'")
    return tag


def expectation_of(node: Node, tag: str, *, scoring: bool) -> Expectation:
    failures = FAILURES[tag]
    verdicts = [each for each in Verdict if each in failures]
    if tag in MAY_PASS:
        verdicts.insert(0, OK)
    elif scoring:
        verdicts.append(Verdict.PARTIAL)
    rules = [
        rule for extra in node.children("extra-tags/extra-tag") for rule in rules_of(extra)
    ]
    if scoring and tag not in MAY_PASS:
        rules.append(failing_rule(tag))
    return Expectation(tuple(verdicts), tuple(rules), time_bound=BOUNDS.get(tag))


BOUNDS: dict[str, Literal["lower", "upper"]] = {
    "main": "lower",
    "accepted": "lower",
    "time-limit-exceeded": "upper",
}


def failing_rule(tag: str, cases: str = "") -> CaseRule:
    failures = FAILURES[tag]
    permitted = None if failures == ANY else failures | {OK, Verdict.PARTIAL}
    return CaseRule(cases, permitted, required=failures | {Verdict.PARTIAL})


def rules_of(extra: Node) -> Iterator[CaseRule]:
    """Expectations for one group; those for a testset are covered by the main tag."""
    group = group_name(extra.get("group"))
    tag = tag_of(extra)
    if not group or tag == NOT_RUN:
        return
    if tag in MAY_PASS:
        yield CaseRule(group, permitted=FAILURES[tag] | {OK})
    else:
        yield failing_rule(tag, group)
