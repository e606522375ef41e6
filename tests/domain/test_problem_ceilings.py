"""No problem runs with more than the operator allows."""

from dataclasses import replace
from typing import Any

import pytest

from deemster.domain.limits import MIB
from deemster.domain.problem import Case, Group, Problem, ProblemLimits
from deemster.domain.problem_ceilings import ProblemCeilings

CEILINGS = ProblemCeilings(
    time_ms=10_000, memory_bytes=512 * MIB, output_bytes=16 * MIB, cases=3, passes=4
)
FITTING = ProblemLimits(time_ms=10_000, memory_bytes=512 * MIB, output_bytes=16 * MIB)
CASE = Case("", "", "")


def problem(
    *, cases: int = 2, submit_answer: bool = False, case: Case = CASE, **limits: Any
) -> Problem:
    inner = Group("secret", tuple(replace(case, name=f"secret/{n}") for n in range(cases)))
    return Problem(
        slug="sums",
        format="2025-09",
        names={},
        tests=Group("", (inner,)),
        limits=replace(FITTING, **limits),
        submit_answer=submit_answer,
    )


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (problem(time_ms=10_001), "time limit of the package is 10.001 s, but at most 10 s"),
        (problem(case=replace(CASE, time_ms=20_000)), "time limit of the package is 20 s"),
        (problem(memory_bytes=513 * MIB), "memory limit of the package is 513 MB, but at most"),
        (
            problem(case=replace(CASE, memory_bytes=600 * MIB)),
            "memory limit of the package is 600 MB",
        ),
        (problem(output_bytes=17 * MIB), "raise the setting problem_output_mb"),
        (problem(cases=4), "number of test cases of the package is 4 cases, but at most 3"),
        (problem(passes=5), "number of passes of the package is 5 passes, but at most 4"),
        (problem(validation_ms=86_400_000), "limit validation_ms of the jury's programs"),
        (problem(compile_memory_bytes=1 << 40), "limit compile_memory_bytes of the jury's"),
    ],
)
def test_x5_each_limit_above_a_ceiling_is_named_and_clamped(asked: Problem, said: str) -> None:
    time_ms = asked.limits.time_ms or 0
    [found] = CEILINGS.violations(asked, time_ms)
    assert said in found
    clamped = CEILINGS.clamped(asked)
    if "cases" not in said:
        assert not list(CEILINGS.violations(clamped, clamped.limits.time_ms or 0))


def test_x5_what_fits_is_not_changed() -> None:
    for fitting in (problem(), problem(case=replace(CASE, time_ms=5, memory_bytes=MIB))):
        assert not list(CEILINGS.violations(fitting, 10_000))
        assert CEILINGS.clamped(fitting) == fitting


def test_submitted_answers_have_no_time_limit() -> None:
    """Their time is only that of the checkers."""
    assert not list(CEILINGS.violations(problem(submit_answer=True), 60_000))


def test_x5_a_package_with_default_limits_fits_below_the_default_ceilings() -> None:
    ordinary = replace(problem(), limits=ProblemLimits(time_ms=60_000))
    assert not list(ProblemCeilings().violations(ordinary, 60_000))
