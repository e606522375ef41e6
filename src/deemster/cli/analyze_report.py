"""Shows an analysis on a terminal, or as JSON."""

from collections.abc import Iterable
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from deemster.cli.output import make_table
from deemster.domain.analysis import (
    Analysis,
    Category,
    Finding,
    Level,
    Region,
    Rule,
    ToolResult,
    ToolStatus,
)
from deemster.pipeline.analyze.installed import InstalledAnalyzer, MissingAnalyzer

COLOURS = {Level.ERROR: "red", Level.WARNING: "yellow", Level.NOTE: "cyan"}
INDENT = 4
LEAST_WIDTH = 20


def as_object(analysis: Analysis, file: str) -> dict[str, Any]:
    return {
        "file": file,
        "language": analysis.language,
        "scores": {str(category): score for category, score in analysis.scores.items()},
        "findings": [
            finding_object(result, finding)
            for result in analysis.results
            for finding in result.findings
        ],
        "tools": [
            {
                "name": result.analyzer.name,
                "version": result.version or None,
                "status": str(result.status),
                "remarks": list(result.remarks),
            }
            for result in analysis.results
        ],
    }


def finding_object(result: ToolResult, finding: Finding) -> dict[str, Any]:
    rule, region = result.analyzer.rules[finding.rule], finding.region
    return {
        "tool": result.analyzer.name,
        "rule": rule.id,
        "category": str(rule.category),
        "level": str(rule.level),
        "line": region.start_line,
        "column": region.start_column,
        "end_line": region.end_line,
        "end_column": region.end_column,
        "message": finding.message,
        "explanation": rule.explanation,
        "fix": finding.fix_text or rule.title if finding.fix else None,
    }


def print_report(analysis: Analysis, file: str, language: str) -> None:
    console = Console(highlight=False)
    [content] = analysis.files.values()
    lines = content.decode(errors="replace").split("\n")
    found = sorted(
        ((result, finding) for result in analysis.results for finding in result.findings),
        key=lambda each: (each[1].region, each[0].analyzer.id),
    )
    explained: set[str] = set()
    for result, finding in found:
        rule = result.analyzer.rules[finding.rule]
        print_finding(console, result, rule, finding, file)
        print_place(console, lines[finding.region.start_line - 1], finding.region)
        if rule.explanation not in explained:
            explained.add(rule.explanation)
            print_indented(console, Text(rule.explanation, style="dim"))
        if finding.fix and finding.fix_text:
            print_indented(console, Text.assemble(("Fix: ", "green"), finding.fix_text))
        console.print()
    console.print(Text(f"{file}: {language}, {count(found)}."))
    console.print(scores_table(analysis))
    console.print(results_table(analysis.results))


def count(found: list[tuple[ToolResult, Finding]]) -> str:
    return f"{len(found) or 'no'} finding{'' if len(found) == 1 else 's'}"


def print_finding(
    console: Console, result: ToolResult, rule: Rule, finding: Finding, file: str
) -> None:
    region = finding.region
    console.print(
        Text.assemble(
            (f"{file}:{region.start_line}:{region.start_column}", "bold"),
            " ",
            (str(rule.level), COLOURS[rule.level]),
            f" ({rule.category}) {finding.message} ",
            (f"[{result.analyzer.name} {rule.id}]", "dim"),
        )
    )


def print_indented(console: Console, text: Text) -> None:
    console.print(Padding(text, (0, 0, 0, INDENT), expand=False))


def print_place(console: Console, line: str, region: Region) -> None:
    """The source line, cut to the width of the terminal, with the place marked below it."""
    number = f"{region.start_line:>{INDENT}} | "
    width = max(LEAST_WIDTH, console.width - len(number))
    start = region.start_column - 1
    end = region.end_column - 1 if region.end_line == region.start_line else len(line)
    first = max(0, start - width // 2) if cell_len(line[: max(end, start + 1)]) > width else 0
    shown = Text(printable(line[first:]))
    shown.truncate(width)
    before = cell_len(printable(line[first:start]))
    length = min(cell_len(printable(line[start:end])), width - before)
    console.print(Text(number, style="dim") + shown, soft_wrap=True)
    mark = " " * before + "^" * max(1, length)
    console.print(Text(" " * len(number) + mark, style="green"), soft_wrap=True)


def printable(text: str) -> str:
    """Control characters of a program must not reach the terminal."""
    return "".join(char if char.isprintable() else " " for char in text)


def scores_table(analysis: Analysis) -> Table:
    table = make_table("", *map(str, Category))
    scores = [analysis.scores.get(category) for category in Category]
    cells = ("not measured" if score is None else str(score) for score in scores)
    table.add_row("score of 100", *cells)
    return table


def results_table(results: Iterable[ToolResult]) -> Table:
    table = make_table("tool", "version", "result")
    for result in results:
        found = f"{len(result.findings)} found." if result.status is ToolStatus.OK else ""
        colour = "" if result.status is ToolStatus.OK else f"[yellow]{result.status}[/]: "
        words = " ".join(filter(None, (found, *map(escape, result.remarks))))
        table.add_row(result.analyzer.name, result.version, colour + words)
    return table


# ---- the analysers themselves ----


def tool_object(each: InstalledAnalyzer | MissingAnalyzer) -> dict[str, Any]:
    analyzer = each.analyzer
    return {
        "id": analyzer.id,
        "name": analyzer.name,
        "languages": sorted(analyzer.languages),
        "rules": len(analyzer.rules),
        "found": isinstance(each, InstalledAnalyzer),
        "version": each.version if isinstance(each, InstalledAnalyzer) else None,
        "problem": each.reason if isinstance(each, MissingAnalyzer) else None,
        "install": analyzer.installation,
    }


def tools_table(found: Iterable[InstalledAnalyzer | MissingAnalyzer]) -> Table:
    table = make_table("analyser", "languages", "version", numbers=("rules",))
    for each in found:
        analyzer = each.analyzer
        if isinstance(each, InstalledAnalyzer):
            version = each.version
        else:
            version = f"[yellow]missing[/]: {escape(analyzer.installation)}"
        languages = " ".join(sorted(analyzer.languages))
        table.add_row(analyzer.name, languages, version, str(len(analyzer.rules)))
    return table
