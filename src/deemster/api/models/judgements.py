"""Response model of the jury's view: every test case, and why the judge failed."""

from collections.abc import Mapping
from typing import Any

from deemster.api.models.field_types import ResponseModel
from deemster.api.models.submissions import CompilerOut, GroupOut, Status, groups_out
from deemster.domain.judgement import FaultCause, JuryCase, ProgramExit, failure_reason
from deemster.domain.lifecycle import PUBLIC_STATUS
from deemster.domain.run_status import RunStatus
from deemster.domain.submission import SubmissionView
from deemster.domain.verdict import Verdict


class JuryCaseOut(ResponseModel):
    number: int
    """Number of the test case in judging order; the first case has 1."""
    name: str
    verdict: Verdict | None
    """null: the case was not run, because it could not change the result."""
    is_sample: bool
    score: float | None
    time_ms: int
    """CPU time of the program."""
    wall_ms: int
    memory_kb: int
    limit_ms: int
    """The time limit of the case."""
    runs: int
    """2 if the first run was near the time limit."""
    reason: str | None
    """How the program failed: signal, exit code, forbidden system call, or that it was idle."""
    message: str | None
    """Message of the checker to the jury, or the first difference to the expected output."""
    team_message: str | None
    """Message of the checker to the contestant."""
    jury_status: RunStatus | None
    """How the checker or interactor ended, if that is the cause of a Judge Error."""
    output: str | None
    """Beginning of the program's output."""
    expected: str | None
    """Beginning of the expected output, if the answer is wrong."""
    stderr: str | None
    """End of what the program wrote to stderr."""


class JudgementOut(ResponseModel):
    """What the jury sees of a submission. It contains hidden test data."""

    id: str
    status: Status
    verdict: Verdict | None
    problem_id: str
    revision: int | None
    language: str
    user_id: str
    user: str
    attempt: int
    error: str | None
    """Why the verdict is Judge Error, or why there is no verdict."""
    cause: FaultCause | None
    """What failed if the verdict is Judge Error."""
    score: float | None
    max_score: float | None
    compiler: CompilerOut | None
    compiler_output: str | None
    groups: list[GroupOut]
    cases: list[JuryCaseOut]
    """All test cases, also those that were not run."""


def judgement_out(
    view: SubmissionView, report: Mapping[str, Any], failure: str | None
) -> JudgementOut:
    """`report` is the jury's report as JSON, or empty; an earlier release may have written it,
    without some of the fields.
    """
    compiled = report.get("compiled") or {}
    command = compiled.get("argv") or compiled.get("run_argv") or []
    return JudgementOut(
        id=view.id,
        status=Status(PUBLIC_STATUS[view.state]),
        verdict=view.verdict,
        problem_id=view.problem,
        revision=view.revision_number,
        language=view.language,
        user_id=view.account,
        user=view.account_name,
        attempt=view.attempt,
        error=report.get("fault") or failure,
        cause=report.get("cause"),
        score=view.score,
        max_score=view.max_score,
        compiler=CompilerOut(version=compiled["version"], command=command)
        if compiled
        else None,
        compiler_output=compiled.get("output") or None,
        groups=groups_out(report),
        cases=[case_out(each) for each in report.get("cases", [])],
    )


def case_out(case: Mapping[str, Any]) -> JuryCaseOut:
    return JuryCaseOut(
        number=case["number"],
        name=case["name"],
        verdict=case["verdict"],
        is_sample=case["is_sample"],
        score=case["score"],
        time_ms=case["cpu_ms"],
        wall_ms=case["wall_ms"],
        memory_kb=case["memory_kb"],
        limit_ms=case["limit_ms"],
        runs=case["runs"],
        reason=reason_of(case) or None,
        message=case["message"] or None,
        team_message=case["team_message"] or None,
        jury_status=case.get("jury_status"),
        output=case["output"] or None,
        expected=case["expected"] or None,
        stderr=case["stderr"] or None,
    )


def reason_of(case: Mapping[str, Any]) -> str:
    ended = case["program_exit"]
    program_exit = None
    if ended is not None:
        program_exit = ProgramExit(**{**ended, "status": RunStatus(ended["status"])})
    return failure_reason(
        JuryCase(
            case["name"],
            case["number"],
            Verdict(case["verdict"]) if case["verdict"] else None,
            cpu_ms=case["cpu_ms"],
            wall_ms=case["wall_ms"],
            limit_ms=case["limit_ms"],
            program_exit=program_exit,
        )
    )
