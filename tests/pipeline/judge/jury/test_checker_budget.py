"""Tests for jury/checker_budget.py: what follows when a checker reaches its own limits."""

from dataclasses import replace
from pathlib import Path

import pytest

from deemster.domain.limits import MIB
from deemster.domain.problem import Case
from deemster.domain.run_status import RunStatus
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.jury.checker import CheckResult, judge_error
from deemster.pipeline.judge.jury.checker_budget import CheckerBudget, is_far_too_large
from tests.pipeline.judge.sum_problem import judge, prepare, sum_problem, with_validator

ACCEPTED = CheckResult(Verdict.ACCEPTED)
CRASHED = judge_error("crashed", status=RunStatus.SIGNALLED)
TOO_SLOW = judge_error("too slow", status=RunStatus.TIME_LIMIT)
TOO_LONG = judge_error("waited too long", status=RunStatus.WALL_LIMIT)


@pytest.mark.parametrize(
    ("answers", "large", "verdict", "runs"),
    [
        ([ACCEPTED], True, Verdict.ACCEPTED, 1),
        ([CRASHED], True, Verdict.JUDGE_ERROR, 1),
        ([TOO_LONG, ACCEPTED], False, Verdict.ACCEPTED, 2),
        ([TOO_SLOW, TOO_SLOW], False, Verdict.JUDGE_ERROR, 2),
        ([TOO_SLOW], True, Verdict.OUTPUT_LIMIT, 1),
    ],
)
async def test_x12_a_checker_at_its_limits_is_tried_once_more(
    answers: list[CheckResult], large: bool, verdict: Verdict, runs: int
) -> None:
    """X12: only an output that is far too large is the program's fault."""
    found = await check(CheckerBudget(), answers, large=large)
    assert found == (verdict, runs)


async def test_x12_checkers_reach_their_limits_twice_in_a_submission() -> None:
    """X12: so that the job ends in time, whatever the outputs of its cases are."""
    budget = CheckerBudget()
    assert await check(budget, [TOO_SLOW], large=True) == (Verdict.OUTPUT_LIMIT, 1)
    assert await check(budget, [TOO_SLOW], large=False) == (Verdict.JUDGE_ERROR, 1)
    assert await check(budget, [], large=True) == (Verdict.OUTPUT_LIMIT, 0)
    assert await check(budget, [], large=False) == (Verdict.JUDGE_ERROR, 0)


async def check(
    budget: CheckerBudget, answers: list[CheckResult], *, large: bool
) -> tuple[Verdict, int]:
    left = list(answers)

    async def run() -> CheckResult:
        return left.pop(0)

    checked = await budget.check(run, output_bytes=5 * MIB, large=large)
    return checked.verdict, len(answers) - len(left)


@pytest.mark.parametrize(
    ("output_bytes", "answer_bytes", "large"),
    [
        (MIB, 1, False),
        (MIB + 1, 1, True),
        (20 * MIB, MIB, True),
        (20 * MIB, 2 * MIB, False),
    ],
)
def test_an_output_is_measured_by_the_answer(
    tmp_path: Path, output_bytes: int, answer_bytes: int, large: bool
) -> None:
    (tmp_path / "1.ans").write_bytes(bytes(answer_bytes))
    case = Case("1", "", "1.ans")
    assert is_far_too_large(tmp_path, case, output_bytes) is large


KEEPS_ALL = """
import sys
words = [word * 1000 for word in sys.stdin.read().split()]
sys.exit(42)
"""


async def test_x12_an_output_that_exhausts_the_checker_is_too_large(tmp_path: Path) -> None:
    problem = with_validator(tmp_path / "package", sum_problem(tmp_path / "package"), KEEPS_ALL)
    limits = replace(problem.limits, output_bytes=8 * MIB, validation_memory_bytes=64 * MIB)
    async with prepare(tmp_path, replace(problem, limits=limits)) as prepared:
        judgement = await judge(prepared, "print('12 ' * 1000000)")
    assert judgement.verdict is Verdict.OUTPUT_LIMIT, judgement.fault
    assert "far more than expected" in judgement.cases[0].team_message
