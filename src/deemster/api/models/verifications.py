"""Response models of verifications: how examples were judged, and what is wrong (W3)."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from deemster.api.models.field_types import ResponseModel
from deemster.api.models.submissions import Status
from deemster.domain.expectation import Observed, ObservedCase, disagreements
from deemster.domain.judgement import is_failure
from deemster.domain.lifecycle import PUBLIC_STATUS, TERMINAL
from deemster.domain.problem import ExampleSubmission
from deemster.domain.verdict import Verdict
from deemster.store.verifications import ExampleView

NOT_STARTED = "It was not judged: verify the problem again."


class VerificationState(StrEnum):
    NONE = "none"
    JUDGING = "judging"
    DONE = "done"


class FindingOut(ResponseModel):
    severity: Literal["error", "warning"]
    text: str


class ExampleOut(ResponseModel):
    path: str
    """File or directory of the example submission in the package."""
    label: str
    """Directory or tag that stands for the expected result."""
    expected: list[Verdict]
    """Verdicts that the author expects; empty: any."""
    submission_id: str | None
    """null: the example can't be judged, and `reasons` says why."""
    status: Status | None
    verdict: Verdict | None
    time_ms: int | None
    """CPU time of the slowest test case."""
    memory_kb: int | None
    score: float | None
    max_score: float | None
    slowest_case: str | None
    """Name of the test case that took the most CPU time."""
    failed_case: str | None
    """Name of the first test case that was rejected."""
    message: str | None
    """Message of the compiler, or of the checker for the first rejected case. It may contain
    hidden test data.
    """
    cases_done: int | None
    """While the example is judged: how many of its test cases have ended."""
    cases_total: int | None
    matches: bool | None
    """Whether the result is the expected one; null: it is not known yet."""
    reasons: list[str]
    """How the result differs from the expected one."""


class VerificationOut(ResponseModel):
    """The result of verifying the revision in force, which grows while examples are judged."""

    problem_id: str
    digest: str
    """Hash of the package's content."""
    state: VerificationState
    """`none`: nobody has started a verification of this revision."""
    started_at: datetime | None
    started_by: str | None
    findings: list[FindingOut]
    """Problems of the package itself. The package's validators are not run."""
    examples: list[ExampleOut]
    """In the order of the package."""
    matching: int
    """How many examples have the expected result."""
    ok: bool | None
    """Whether all examples match and no finding is an error; null: it is not known yet."""


def example_out(
    example: ExampleSubmission,
    found: ExampleView | None,
    report: Mapping[str, Any],
    refusal: str | None,
) -> ExampleOut:
    """`report` is the jury's report as JSON, or empty."""
    cases = report.get("cases", [])
    failed = next((each for each in cases if is_failure(verdict_in(each))), None)
    slowest = max(cases, key=lambda each: each["cpu_ms"], default=None)
    is_ended = found is None or found.state in TERMINAL
    reasons = []
    if found is None:
        reasons = [refusal or NOT_STARTED]
    elif found.verdict is None and is_ended:
        reasons = [found.failure or NOT_STARTED]
    elif report:
        reasons = disagreements(example.expectation, observed_in(report))
        if reasons and report.get("fault"):
            reasons.append(report["fault"])
    return ExampleOut(
        path=example.path,
        label=example.label,
        expected=list(example.expectation.verdicts),
        submission_id=found.id if found else None,
        status=Status(PUBLIC_STATUS[found.state]) if found else None,
        verdict=found.verdict if found else None,
        time_ms=found.runtime_ms if found else None,
        memory_kb=found.memory_kb if found else None,
        score=found.score if found else None,
        max_score=found.max_score if found else None,
        slowest_case=slowest["name"] if slowest else None,
        failed_case=failed["name"] if failed else None,
        message=message_in(report, failed),
        cases_done=found.cases_done if found else None,
        cases_total=found.cases_total if found else None,
        matches=not reasons if is_ended else None,
        reasons=reasons,
    )


def observed_in(report: Mapping[str, Any]) -> Observed:
    """The parts of a jury's report that expectations refer to."""
    cases = report["cases"]
    return Observed(
        verdict=Verdict(report["verdict"]),
        cases=[
            ObservedCase(each["name"], Verdict(each["verdict"]), each["message"])
            for each in cases
            if each["verdict"]
        ],
        skipped=[each["name"] for each in cases if not each["verdict"]],
        score=report["score"],
        best_score=report["max_score"],
        group_scores=[
            (each["name"], each["score"])
            for each in report["groups"]
            if each["score"] is not None
        ],
    )


def message_in(report: Mapping[str, Any], failed: Mapping[str, Any] | None) -> str | None:
    if report.get("verdict") == Verdict.COMPILE_ERROR:
        return (report["compiled"] or {}).get("output") or None
    return (failed["message"] or None) if failed else None


def verdict_in(case: Mapping[str, Any]) -> Verdict | None:
    return Verdict(case["verdict"]) if case["verdict"] else None
