"""Computes the score of each category of an analysis; docs/analysis.md explains the formula."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from deemster.domain.analysis import Category, Finding, Level, Rule, ToolResult, ToolStatus

COSTS: Mapping[Level, int] = {Level.ERROR: 25, Level.WARNING: 10, Level.NOTE: 3}
"""Points that a finding costs in a program of up to `USUAL_LINES`."""
REPETITIONS = 5
"""A rule costs points for this many lines at most: one habit is one thing to learn."""
USUAL_LINES = 100
"""In a program that is n times as long, a finding costs the n-th part."""
LONGEST = 5.0
"""Largest n, so that lines without meaning can't make findings cost nothing."""


def compute_scores(
    results: Iterable[ToolResult], files: Mapping[str, bytes]
) -> dict[Category, int | None]:
    """100 without findings, 0 at worst; None for a category that no tool measured."""
    used = [result for result in results if result.status is ToolStatus.OK]
    measured = {category for result in used for category in result.analyzer.categories}
    found = [
        (result.analyzer.rules[each.rule], each) for result in used for each in result.findings
    ]
    size = min(max(1.0, count_lines(files) / USUAL_LINES), LONGEST)
    return {
        category: score_of(found, category, size) if category in measured else None
        for category in Category
    }


def score_of(found: Iterable[tuple[Rule, Finding]], category: Category, size: float) -> int:
    costs: dict[str, list[int]] = defaultdict(list)
    for rule, _ in worst_of_each_line(found, category):
        costs[rule.id].append(COSTS[rule.level])
    cost = sum(sum(each[:REPETITIONS]) for each in costs.values())
    return max(0, round(100 - cost / size))


def worst_of_each_line(
    found: Iterable[tuple[Rule, Finding]], category: Category
) -> list[tuple[Rule, Finding]]:
    """Two tools that report the same line mean the same mistake."""
    worst: dict[tuple[str, int], tuple[Rule, Finding]] = {}
    for rule, finding in found:
        place = (finding.file, finding.region.start_line)
        known = worst.get(place)
        if rule.category is category and (
            known is None or COSTS[rule.level] > COSTS[known[0].level]
        ):
            worst[place] = (rule, finding)
    return list(worst.values())


def count_lines(files: Mapping[str, bytes]) -> int:
    """Lines that are not blank."""
    return sum(bool(line.strip()) for text in files.values() for line in text.splitlines())
