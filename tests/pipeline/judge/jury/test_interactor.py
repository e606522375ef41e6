"""Tests for jury/interactor.py: which side is at fault when one of them ends or hangs."""

from dataclasses import replace
from pathlib import Path

import pytest

from deemster.domain.judgement import for_contestant
from deemster.domain.problem import Problem, Program, ProgramCheck, ProtocolName
from deemster.domain.verdict import Verdict
from tests.pipeline.judge.sum_problem import (
    judge,
    prepare,
    sum_problem,
    write_files,
)

READ_INPUT = "import os; os.read(0, 100); "


PYTHON = """
import sys
sys.stdin.read()
for _ in range(100_000):
    print("too late", flush=True)
sys.exit(CODE)
"""
C = """
#include <stdio.h>
int main(void) {
    while (getchar() != EOF);
    for (int i = 0; i < 100000; i++) { puts("too late"); fflush(stdout); }
    return CODE;
}
"""


def with_interactor(root: Path, text: str, name: str) -> Problem:
    write_files(root, {f"output_validator/{name}": text})
    check = ProgramCheck(
        (Program("interactor", f"output_validator/{name}"),), ProtocolName.ICPC
    )
    return replace(sum_problem(root, 1), interactor=check)


@pytest.mark.parametrize(("name", "text"), [("interactor.py", PYTHON), ("interactor.c", C)])
@pytest.mark.parametrize(("code", "verdict"), [(42, "Accepted"), (43, "Wrong Answer")])
async def test_an_interactor_may_write_to_a_program_that_has_ended(
    tmp_path: Path, name: str, text: str, code: int, verdict: str
) -> None:
    """J4: this is not a Judge Error."""
    problem = with_interactor(tmp_path / "package", text.replace("CODE", str(code)), name)
    async with prepare(tmp_path, problem, "c") as prepared:
        left = await judge(prepared, "print(1)")
        crashed = await judge(prepared, "raise SystemExit(3)")
    assert left.verdict == verdict, left.fault
    assert crashed.verdict is Verdict.RUNTIME_ERROR


async def test_an_interactor_that_fails_by_itself_is_a_judge_error(tmp_path: Path) -> None:
    problem = with_interactor(tmp_path / "package", "raise SystemExit(1)", "interactor.py")
    async with prepare(tmp_path, problem) as prepared:
        judgement = await judge(prepared, f"{READ_INPUT}print(1)")
    assert judgement.verdict is Verdict.JUDGE_ERROR


AWAITS_END = "import sys; sys.stdin.read(); sys.exit(43)"
CLOSES = "import os, sys, time; os.close(1); time.sleep(0.1); "


@pytest.mark.parametrize(
    ("then", "verdict"),
    [
        ("os.abort()", Verdict.RUNTIME_ERROR),
        ("os._exit(1)", Verdict.RUNTIME_ERROR),
        ("os._exit(0)", Verdict.WRONG_ANSWER),
        ("time.sleep(60)", Verdict.TIME_LIMIT),
    ],
)
async def test_j4_a_program_that_closes_its_output_is_judged_by_its_end(
    tmp_path: Path, then: str, verdict: Verdict
) -> None:
    """As BAPCtools and Kattis do: the interactor reads the end only after the program's."""
    problem = with_interactor(tmp_path / "package", AWAITS_END, "interactor.py")
    problem = replace(problem, limits=replace(problem.limits, time_ms=300))
    async with prepare(tmp_path, problem) as prepared:
        judgement = await judge(prepared, CLOSES + then)
    assert judgement.verdict is verdict, judgement.fault


async def test_a_silent_program_is_at_fault_not_the_waiting_interactor(
    tmp_path: Path,
) -> None:
    """Even if the interactor's time limit is shorter than the program's."""
    problem = with_interactor(tmp_path / "package", "input()", "interactor.py")
    problem = replace(problem, limits=replace(problem.limits, validation_ms=1000))
    async with prepare(tmp_path, problem) as prepared:
        judgement = await judge(prepared, "import time; time.sleep(60)")
    assert judgement.verdict is Verdict.TIME_LIMIT, judgement.fault


GUESSING = """
import sys
print("guess", flush=True)
answer = input()
print("no, not", answer, flush=True)
sys.exit(43)
"""


async def test_a2_a_failed_interactive_sample_shows_the_interaction(tmp_path: Path) -> None:
    """A2, A11: that of a hidden case is not recorded."""
    problem = with_interactor(tmp_path / "package", GUESSING, "interactor.py")
    [case] = problem.tests.cases()
    hidden = replace(
        problem, tests=replace(problem.tests, items=(replace(case, is_sample=False),))
    )
    text = "import sys; input(); print(7, flush=True); print(input(), file=sys.stderr)"
    async with prepare(tmp_path, problem) as prepared:
        shown = for_contestant(await judge(prepared, text)).failed_case
        unseen = (await judge(replace(prepared, problem=hidden), text)).cases[0]
    assert shown is not None
    assert shown.got == "<guess\n>7\n<no, not 7\n"
    assert (unseen.verdict, unseen.output.reveal()) == (Verdict.WRONG_ANSWER, "")
