"""Tests for cli/verify_report.py: why a submission was not judged as expected."""

from pathlib import Path

from deemster.cli.verify_report import as_object, explanation, summary
from deemster.domain.expectation import Expectation
from deemster.domain.judgement import (
    CompileRecord,
    JuryCase,
    JuryJudgement,
    JuryText,
    ProgramExit,
)
from deemster.domain.problem import ExampleSubmission
from deemster.domain.run_status import RunStatus
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.verify.verifier import PackageReport, SubmissionReport

EXAMPLE = ExampleSubmission("submissions/accepted/a.py", "accepted", Expectation())
STDERR = "\n".join(f"line {number}" for number in range(30))
CRASHED = JuryCase(
    "secret/2",
    2,
    Verdict.RUNTIME_ERROR,
    program_exit=ProgramExit(RunStatus.NONZERO_EXIT, exit_code=3),
    message=JuryText("judge message"),
    stderr=JuryText(STDERR),
)


def report(judgement: JuryJudgement | None, *reasons: str) -> SubmissionReport:
    return SubmissionReport(EXAMPLE, judgement, reasons)


def test_the_terminal_shows_messages_shortened() -> None:
    passed = JuryCase("sample/1", 1, Verdict.ACCEPTED, stderr=JuryText("not shown"))
    judgement = JuryJudgement(Verdict.RUNTIME_ERROR, [passed, CRASHED])
    lines = list(explanation(report(judgement, "The verdict is Runtime Error.")))
    assert lines[:5] == [
        "The verdict is Runtime Error.",
        "secret/2, Runtime Error:",
        "  exit code 3",
        "secret/2, message:",
        "  judge message",
    ]
    assert lines[5:7] == ["secret/2, stderr:", "  line 0"]
    assert lines[-1] == "  … and 22 more lines, which --json shows."


def test_the_output_of_the_compiler_is_shown() -> None:
    compiled = CompileRecord("cpp", "g++", output="a.cpp:1: error: " + "x" * 500)
    judgement = JuryJudgement(Verdict.COMPILE_ERROR, compiled=compiled)
    reasons, title, line = explanation(report(judgement, "The verdict is Compile Error."))
    assert (reasons, title) == ("The verdict is Compile Error.", "compiler:")
    assert line.startswith("  a.cpp:1: error: ")
    assert len(line) < 200


def test_json_has_all_messages() -> None:
    judgement = JuryJudgement(Verdict.RUNTIME_ERROR, [CRASHED])
    package = PackageReport(Path("sum"), submissions=[report(judgement, "no")])
    [found] = as_object([package])["packages"][0]["submissions"]
    [case] = found["failed_cases"]
    assert (case["name"], case["verdict"], case["reason"]) == (
        "secret/2",
        "Runtime Error",
        "exit code 3",
    )
    assert (case["message"], case["stderr"]) == ("judge message", STDERR)


def test_json_has_all_output_of_the_compiler() -> None:
    output = "a.cpp:1: error: " + "x" * 500
    compiled = CompileRecord("cpp", "g++", output=output)
    judgement = JuryJudgement(Verdict.COMPILE_ERROR, compiled=compiled)
    package = PackageReport(Path("sum"), submissions=[report(judgement, "no")])
    [found] = as_object([package])["packages"][0]["submissions"]
    assert found["compiler_output"] == output


def test_nothing_judged_does_not_look_like_success() -> None:
    empty = PackageReport(Path("empty"))
    assert summary([empty]).plain == "No submission was judged, so no verdict is verified."
    assert summary([empty]).style == "red"
    full = PackageReport(Path("sum"), submissions=[report(JuryJudgement(Verdict.ACCEPTED))])
    assert summary([full]).plain == "1 of 1 submissions are as expected."
    assert summary([full, empty]).plain == (
        "1 of 1 submissions are as expected. None was judged in empty."
    )
