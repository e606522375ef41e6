"""Tests for jury/interactor.py: which side is at fault when one of them ends or hangs."""

from dataclasses import replace
from pathlib import Path

import pytest

from deemster.domain.judgement import for_contestant
from deemster.domain.limits import MIB
from deemster.domain.problem import JuryProgram, Problem, ProgramCheck, ProtocolName
from deemster.domain.run_status import RunStatus
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.jury.checker import CheckerFiles
from deemster.pipeline.judge.jury.interactor import decide
from deemster.pipeline.judge.jury.protocols import INTERACTORS
from deemster.sandbox.hang import Hang
from deemster.sandbox.pair import Pair
from deemster.sandbox.wire import Report
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
for _ in range(20_000):
    print("too late", flush=True)
sys.exit(CODE)
"""
C = """
#include <stdio.h>
int main(void) {
    while (getchar() != EOF);
    for (int i = 0; i < 20000; i++) { puts("too late"); fflush(stdout); }
    return CODE;
}
"""


def with_interactor(root: Path, text: str, name: str) -> Problem:
    write_files(root, {f"output_validator/{name}": text})
    check = ProgramCheck(
        (JuryProgram("interactor", f"output_validator/{name}"),), ProtocolName.ICPC
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


ANSWERS = """
import sys
for question in sys.stdin:
    print(sum(range(10_000)), flush=True)
"""


async def test_x12_a_program_that_asks_without_end_is_too_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interactor uses most of the time, but it is not stuck."""
    monkeypatch.setattr("deemster.domain.limits.WALL_MARGIN_MS", 500)
    problem = with_interactor(tmp_path / "package", ANSWERS, "interactor.py")
    problem = replace(problem, limits=replace(problem.limits, time_ms=200))
    text = """
#include <stdio.h>
int main(void) {
    char line[64];
    while (puts("?") >= 0 && fflush(stdout) == 0 && fgets(line, sizeof line, stdin));
}
"""
    async with prepare(tmp_path, problem, "c") as prepared:
        judgement = await judge(prepared, text, "c")
    assert judgement.verdict is Verdict.TIME_LIMIT, judgement.fault


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("import os\nwhile True: os.write(1, bytes(65536))", Verdict.OUTPUT_LIMIT),
        ("print(1)", Verdict.JUDGE_ERROR),
    ],
)
async def test_x12_a_program_can_not_make_an_interactor_reach_its_limits(
    tmp_path: Path, text: str, verdict: Verdict
) -> None:
    """Only an interactor that reaches them by itself is a Judge Error."""
    keeps_all = "import sys\nkept = sys.stdin.read()\nkept = [kept] * 10**9"
    problem = with_interactor(tmp_path / "package", keeps_all, "interactor.py")
    limits = replace(problem.limits, validation_memory_bytes=64 * MIB)
    async with prepare(tmp_path, replace(problem, limits=limits)) as prepared:
        judgement = await judge(prepared, text)
    assert judgement.verdict is verdict, judgement.fault


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


S = 10**9


@pytest.mark.parametrize(
    ("program", "cpu_s", "hang", "verdict"),
    [
        ("read", 5.0, Hang("program"), Verdict.JUDGE_ERROR),
        ("read", 0.2, Hang("program", companion_ready_ns=5 * S), Verdict.JUDGE_ERROR),
        ("read", 0.2, Hang("program", True, 5 * S), Verdict.TIME_LIMIT),
        ("read", 0.2, Hang("program", companion_ready_ns=S), Verdict.TIME_LIMIT),
        ("read", 0.2, Hang("companion", companion_ready_ns=S), Verdict.JUDGE_ERROR),
        ("crash", 0.2, Hang("companion", companion_ready_ns=S), None),
    ],
)
def test_j4_an_interactor_that_waits_for_a_core_is_computing(
    tmp_path: Path, program: str, cpu_s: float, hang: Hang, verdict: Verdict | None
) -> None:
    """J4: also if a busy machine gave it little CPU time. A crash comes first."""
    report = Report(RunStatus.CANCELLED, cpu_ns=round(cpu_s * S), wall_ns=8 * S, ended_ns=9 * S)
    status = {"read": RunStatus.CANCELLED, "crash": RunStatus.SIGNALLED}[program]
    pair = Pair(Report(status, ended_ns=8 * S), report, "program", hang)
    found = decide(pair, "interactor", INTERACTORS[ProtocolName.ICPC], CheckerFiles(tmp_path))
    assert (found.checked.verdict if found.checked else None) is verdict
    if verdict is Verdict.TIME_LIMIT:
        assert found.report.status is RunStatus.WALL_LIMIT


def test_j4_a_program_that_outlives_its_interactor_is_too_slow(tmp_path: Path) -> None:
    """J4: although the interactor was computing for most of its own short time."""
    program = Report(RunStatus.CANCELLED, wall_ns=5 * S, ended_ns=9 * S)
    report = Report(RunStatus.NONZERO_EXIT, 42, cpu_ns=S // 10, wall_ns=S // 8, ended_ns=4 * S)
    pair = Pair(program, report, "companion", Hang("program"))
    found = decide(pair, "interactor", INTERACTORS[ProtocolName.ICPC], CheckerFiles(tmp_path))
    assert found.checked is not None
    assert found.checked.verdict is Verdict.TIME_LIMIT


async def test_j4_an_interactor_that_does_not_read_is_a_judge_error(tmp_path: Path) -> None:
    problem = with_interactor(tmp_path / "package", "import time; time.sleep(60)", "sleeps.py")
    problem = replace(problem, limits=replace(problem.limits, time_ms=100))
    async with prepare(tmp_path, problem) as prepared:
        judgement = await judge(prepared, "print(1, flush=True); input()")
    assert judgement.verdict is Verdict.JUDGE_ERROR
