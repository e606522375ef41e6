"""Contestants see their own results and no hidden test data."""

import dataclasses

import pytest

from deemster.domain.judgement import (
    CompileRecord,
    ContestantCase,
    ContestantJudgement,
    GroupScore,
    JuryCase,
    JuryJudgement,
    JuryText,
    ProgramExit,
    case_for_contestant,
    for_contestant,
)
from deemster.domain.run_status import RunStatus
from deemster.domain.verdict import Verdict

SECRET = "the-hidden-thing"


def jury_case(number: int, verdict: Verdict | None, *, is_sample: bool = False) -> JuryCase:
    return JuryCase(
        name=f"secret/{SECRET}",
        number=number,
        verdict=verdict,
        is_sample=is_sample,
        cpu_ms=2000,
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


FAILED = [
    Verdict.WRONG_ANSWER,
    Verdict.TIME_LIMIT,
    Verdict.MEMORY_LIMIT,
    Verdict.OUTPUT_LIMIT,
    Verdict.RUNTIME_ERROR,
]


@pytest.mark.parametrize("verdict", FAILED)
def test_a_failed_sample_shows_both_streams_and_a_hidden_case_neither(verdict: Verdict) -> None:
    """A2, A11."""
    sample = case_for_contestant(jury_case(1, verdict, is_sample=True))
    assert (sample.got, sample.stderr) == (SECRET, SECRET)
    hidden = case_for_contestant(jury_case(1, verdict))
    assert hidden == ContestantCase(
        number=1,
        verdict=verdict,
        is_sample=False,
        cpu_ms=2000,
        memory_kb=0,
        limit_ms=1000 if verdict is Verdict.TIME_LIMIT else 0,
        reason="exit code 3" if verdict is Verdict.RUNTIME_ERROR else "",
    )


@pytest.mark.parametrize("verdict", [Verdict.ACCEPTED, Verdict.JUDGE_ERROR, None])
def test_a_sample_that_did_not_fail_shows_no_output(verdict: Verdict | None) -> None:
    """A11: what a jury program wrote is not the contestant's."""
    assert SECRET not in repr(case_for_contestant(jury_case(1, verdict, is_sample=True)))


@pytest.mark.parametrize(
    ("signal", "reason"),
    [
        (11, "segmentation fault (signal 11)"),
        (8, "arithmetic error, such as a division by zero (signal 8)"),
        (6, "aborted (signal 6)"),
        (9, "killed (signal 9)"),
        (60, "signal 60"),
    ],
)
def test_a2_people_understand_the_reason_of_a_crash(signal: int, reason: str) -> None:
    ended = ProgramExit(RunStatus.SIGNALLED, signal=signal)
    case = dataclasses.replace(jury_case(1, Verdict.RUNTIME_ERROR), program_exit=ended)
    assert case_for_contestant(case).reason == reason


def test_a2_a_program_that_was_idle_until_the_wall_limit_is_told_so() -> None:
    ended = ProgramExit(RunStatus.WALL_LIMIT)
    slow = dataclasses.replace(jury_case(1, Verdict.TIME_LIMIT), program_exit=ended)
    idle = dataclasses.replace(slow, cpu_ms=20, wall_ms=5200)
    assert case_for_contestant(slow).reason == ""
    assert case_for_contestant(idle).reason == (
        "idle: the program used 0.02 s of CPU time in 5.2 s, so it slept or waited, "
        "perhaps for input"
    )


def test_all_groups_that_contestants_see_have_names() -> None:
    groups = [GroupScore("easy", None, 0.0, 40.0), GroupScore("", Verdict.PARTIAL, 0.0)]
    shown = for_contestant(JuryJudgement(Verdict.PARTIAL, groups=groups))
    assert [group.name for group in shown.groups] == ["easy"]


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
