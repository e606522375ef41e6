"""P2: the score of each category follows the formula of docs/analysis.md."""

from dataclasses import replace

import pytest

from deemster.domain.analysis import (
    Analyzer,
    Category,
    Finding,
    Level,
    Region,
    Rule,
    RuleId,
    ToolResult,
    ToolStatus,
)
from deemster.domain.analysis_score import compute_scores
from deemster.pipeline.analyze.analyzers import load_analyzers

SHORT = {"a.py": b"x = 1\n" * 100}


def rule(name: str, category: Category, level: Level) -> Rule:
    return Rule(RuleId(name), "A title", category, level, "An explanation.")


RULES = (
    rule("bug", Category.CORRECTNESS, Level.ERROR),
    rule("risk", Category.CORRECTNESS, Level.WARNING),
    rule("hint", Category.CORRECTNESS, Level.NOTE),
    rule("name", Category.STYLE, Level.NOTE),
)


@pytest.fixture(scope="module")
def analyzer() -> Analyzer:
    return replace(load_analyzers()[0], rules={each.id: each for each in RULES})


def result(analyzer: Analyzer, *found: tuple[str, int]) -> ToolResult:
    findings = tuple(
        Finding(RuleId(name), "a.py", Region(line, 1, line, 2), "A message")
        for name, line in found
    )
    return ToolResult(analyzer, ToolStatus.OK, "1", findings)


def correctness(*results: ToolResult, lines: int = 100) -> int | None:
    return compute_scores(results, {"a.py": b"x = 1\n\n" * lines})[Category.CORRECTNESS]


def test_a_program_without_findings_has_100_in_every_measured_category(
    analyzer: Analyzer,
) -> None:
    assert compute_scores([result(analyzer)], SHORT) == {
        Category.CORRECTNESS: 100,
        Category.STYLE: 100,
        Category.COMPLEXITY: None,
        Category.SECURITY: None,
    }


def test_findings_cost_by_their_level(analyzer: Analyzer) -> None:
    assert correctness(result(analyzer, ("bug", 1))) == 75
    assert correctness(result(analyzer, ("bug", 1), ("risk", 2), ("hint", 3))) == 62
    assert compute_scores([result(analyzer, ("bug", 1))], SHORT)[Category.STYLE] == 100


def test_a_score_is_never_below_0(analyzer: Analyzer) -> None:
    found = [(name, line) for line, name in enumerate(["bug", "risk", "hint"] * 50, 1)]
    assert correctness(result(analyzer, *found)) == 0


def test_a_rule_costs_at_most_five_times(analyzer: Analyzer) -> None:
    found = [("hint", line) for line in range(1, 51)]
    assert correctness(result(analyzer, *found)) == 85


def test_tools_that_report_the_same_line_cost_once(analyzer: Analyzer) -> None:
    """The worse finding counts."""
    first, second = result(analyzer, ("risk", 7)), result(analyzer, ("bug", 7), ("hint", 7))
    assert correctness(first, second) == correctness(second, first) == 75


def test_in_a_long_program_a_finding_costs_less_but_never_nothing(analyzer: Analyzer) -> None:
    found = result(analyzer, ("bug", 1))
    scores = [correctness(found, lines=lines) for lines in (1, 100, 200, 500, 10_000)]
    assert scores == [75, 75, 88, 95, 95]


@pytest.mark.parametrize("status", [ToolStatus.MISSING, ToolStatus.FAILED])
def test_a_tool_that_did_not_run_measures_nothing(
    analyzer: Analyzer, status: ToolStatus
) -> None:
    """A program that makes a tool fail does not get a perfect score for that."""
    assert correctness(ToolResult(analyzer, status)) is None
    assert correctness(ToolResult(analyzer, status), result(analyzer)) == 100
