"""Shows the reports of `deemster problem verify` as tables or as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from deemster.cli.output import as_printable, make_table, table_console
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.verify.verifier import PackageReport, SubmissionReport

SHOWN_LINES = 8
SHOWN_WIDTH = 160
"""The most of one message on the terminal; --json has all of it."""


def as_object(reports: Sequence[PackageReport]) -> dict[str, Any]:
    return {
        "packages": [package_object(report) for report in reports],
        "ok": all(report.ok for report in reports),
    }


def package_object(report: PackageReport) -> dict[str, Any]:
    problem = report.problem
    return {
        "path": str(report.path),
        "problem": problem.slug if problem else None,
        "format": problem.format if problem else None,
        "revision": report.digest or None,
        "time_limit_ms": report.time_limit_ms,
        "submissions": [submission_object(each) for each in report.submissions],
        "findings": [
            {"severity": finding.severity, "text": finding.text} for finding in report.findings
        ],
        "ok": report.ok,
    }


def submission_object(report: SubmissionReport) -> dict[str, Any]:
    judgement, example = report.judgement, report.example
    failed = judgement.failed_case if judgement else None
    return {
        "path": example.path,
        "label": example.label,
        "expected": [str(verdict) for verdict in example.expectation.verdicts],
        "verdict": str(judgement.verdict) if judgement else None,
        "time_ms": judgement.runtime_ms if judgement else None,
        "memory_kb": judgement.memory_kb if judgement else None,
        "score": judgement.score if judgement else None,
        "failed_case": failed.name if failed else None,
        "matches": report.matches,
        "reasons": list(report.reasons),
        **asdict(report.failure_details),
    }


def print_reports(reports: Sequence[PackageReport]) -> None:
    console = table_console()
    for report in reports:
        console.print(package_view(report))
    console.print(summary(reports))


def summary(reports: Sequence[PackageReport]) -> Text:
    matching = sum(each.matches for report in reports for each in report.submissions)
    total = sum(len(report.submissions) for report in reports)
    style = "green" if all(report.ok for report in reports) else "red"
    if not total:
        return Text("No submission was judged, so no verdict is verified.", style="red")
    text = f"{matching} of {total} submissions are as expected."
    unjudged = [str(report.path) for report in reports if not report.submissions]
    if unjudged:
        text += f" None was judged in {', '.join(unjudged)}."
    return Text(text, style)


def package_view(report: PackageReport) -> Group:
    problem = report.problem
    title = (
        f"[bold]{escape(problem.slug)}[/]"
        if problem
        else f"[bold]{escape(str(report.path))}[/]"
    )
    if problem:
        name = next(iter(problem.names.values()), "")
        title += (
            f" {escape(as_printable(name))} [dim]{problem.format}, {describe_limit(report)}[/]"
        )
    parts: list[Any] = [Text.from_markup(title)]
    for finding in report.findings:
        colour = "red" if finding.is_error else "yellow"
        parts.append(
            Text.from_markup(
                f"  [{colour}]{finding.severity}[/]: {escape(as_printable(finding.text))}"
            )
        )
    if report.submissions:
        parts.append(submissions_table(report))
    parts += [mismatch(each) for each in report.submissions if not each.matches]
    return Group(*parts, "")


def mismatch(each: SubmissionReport) -> Text:
    text = Text(f"  {each.example.path}", style="red")
    for line in explanation(each):
        text.append(f"\n    {as_printable(line)}", style="default")
    return text


def explanation(each: SubmissionReport) -> Iterator[str]:
    """The reasons, then what explains the first failure, without what was said before."""
    said = "\n".join(each.reasons)
    yield from said.splitlines()
    for title, message in each.failure_details.texts():
        if not message or message in said:
            continue
        yield f"{title}:"
        yield from (f"  {line}" for line in shortened(message))


def shortened(message: str) -> Iterator[str]:
    lines = message.splitlines()
    for line in lines[:SHOWN_LINES]:
        yield line[:SHOWN_WIDTH] + ("…" if len(line) > SHOWN_WIDTH else "")
    if len(lines) > SHOWN_LINES:
        yield f"… and {len(lines) - SHOWN_LINES} more lines, which --json shows."


def describe_limit(report: PackageReport) -> str:
    if report.time_limit_ms is None:
        return "no time limit"
    computed = report.problem is not None and report.problem.limits.time_ms is None
    return f"time limit {report.time_limit_ms / 1000:g} s{' (computed)' if computed else ''}"


def submissions_table(report: PackageReport) -> Table:
    table = make_table("", "submission", "verdict", numbers=("time", "slack", "memory"))
    for each in report.submissions:
        table.add_row(*cells(each, report.time_limit_ms))
    return table


def cells(each: SubmissionReport, limit_ms: int | None) -> list[str]:
    judgement = each.judgement
    path = escape(each.example.path.removeprefix("submissions/"))
    mark = "[green]✓[/]" if each.matches else "[red]✗[/]"
    if judgement is None:
        return [mark, path, "not judged", "", "", ""]
    verdict = str(judgement.verdict)
    if judgement.score is not None:
        verdict += f" {judgement.score:g}"
    return [
        mark,
        path,
        verdict,
        f"{judgement.runtime_ms / 1000:.2f} s",
        slack(judgement.runtime_ms, limit_ms, judgement.verdict),
        f"{judgement.memory_kb // 1024} MB",
    ]


def slack(runtime_ms: int, limit_ms: int | None, verdict: Verdict) -> str:
    """The time limit divided by the time that the submission took."""
    if limit_ms is None or verdict in {Verdict.COMPILE_ERROR, Verdict.TIME_LIMIT}:
        return ""
    return f"{limit_ms / runtime_ms:.1f} x" if runtime_ms * 100 > limit_ms else "> 100 x"
