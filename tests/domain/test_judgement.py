"""Contestants see their own results and no hidden test data."""

import dataclasses

import pytest

from deemster.domain.judgement import (
    CompileRecord,
    ContestantJudgement,
    JuryCase,
    JuryJudgement,
    JuryText,
    ProgramExit,
    for_contestant,
)
from deemster.domain.run_status import RunStatus
from deemster.domain.verdict import Verdict

SECRET = "the-hidden-thing"


def jury_case(number: int, verdict: Verdict, *, is_sample: bool = False) -> JuryCase:
    return JuryCase(
        name=f"secret/{SECRET}",
        number=number,
        verdict=verdict,
        is_sample=is_sample,
        limit_ms=1000,
        program_exit=ProgramExit(RunStatus.NONZERO_EXIT, exit_code=3),
        message=JuryText(SECRET),
        output=JuryText(SECRET),
        expected=JuryText(SECRET),
        stderr=JuryText(SECRET),
    )


@pytest.mark.parametrize("verdict", list(Verdict))
def test_nothing_of_a_hidden_case_reaches_a_contestant(verdict: Verdict) -> None:
    """A11: hidden test data, expected output and checker messages never leave."""
    judgement = JuryJudgement(
        verdict,
        [jury_case(1, verdict)],
        fault=JuryText(SECRET),
        compiled=CompileRecord("c", "1"),
    )
    shown = for_contestant(judgement)
    assert SECRET not in repr(shown)
    assert SECRET not in repr(judgement.cases[0].message)
    assert SECRET not in f"{judgement.fault}"


def test_a_failed_sample_shows_expected_and_got() -> None:
    """A2: for sample cases only."""
    cases = [jury_case(1, Verdict.WRONG_ANSWER, is_sample=True)]
    shown = for_contestant(JuryJudgement(Verdict.WRONG_ANSWER, cases))
    assert shown.failed_case is not None
    assert shown.failed_case.expected == shown.failed_case.got == SECRET


def test_a_slow_case_shows_its_limit_and_a_crash_its_reason() -> None:
    """A2."""
    slow = for_contestant(JuryJudgement(Verdict.TIME_LIMIT, [jury_case(7, Verdict.TIME_LIMIT)]))
    assert slow.failed_case is not None
    assert (slow.failed_case.number, slow.failed_case.limit_ms) == (7, 1000)
    crash = for_contestant(
        JuryJudgement(Verdict.RUNTIME_ERROR, [jury_case(1, Verdict.RUNTIME_ERROR)])
    )
    assert crash.failed_case is not None
    assert crash.failed_case.reason == "exit code 3"


def test_compiler_output_is_shown_for_compile_errors_only() -> None:
    """A2."""
    record = CompileRecord("c", "GCC 12", output="warning: odd")
    failed = for_contestant(JuryJudgement(Verdict.COMPILE_ERROR, compiled=record))
    passed = for_contestant(JuryJudgement(Verdict.ACCEPTED, compiled=record))
    assert failed.compiler_output == "warning: odd"
    assert passed.compiler_output is None


def test_no_field_of_a_contestant_judgement_can_hold_a_jury_text() -> None:
    """A11: the types are different, so that a leak is a type error."""
    for field in dataclasses.fields(ContestantJudgement):
        assert "Jury" not in str(field.type)
