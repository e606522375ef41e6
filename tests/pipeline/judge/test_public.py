"""What public packages rely on: files beside programs, interactors whose partner left."""

from dataclasses import replace
from pathlib import Path

import pytest

from deemster.domain.problem import (
    Aggregation,
    Group,
    Problem,
    Program,
    ProgramCheck,
    ProtocolName,
    Subtask,
)
from deemster.domain.source import Source
from deemster.domain.verdict import Verdict
from tests.pipeline.judge.judging import (
    checked_by,
    court_for,
    judge,
    judge_source,
    lay_out,
    sums,
)

RIGHT = "print(sum(map(int, input().split())))"
ASKS = "import os; os.read(0, 100); "


def scripted(root: Path, problem: Problem, files: dict[str, str]) -> Problem:
    lay_out(root, {f"output_validator/{name}": text for name, text in files.items()})
    program = Program("check", "output_validator", scripted=True)
    return replace(problem, checker=ProgramCheck((program,), ProtocolName.ICPC))


async def test_a_script_starts_what_it_built_by_its_relative_name(tmp_path: Path) -> None:
    root = tmp_path / "package"
    files = {
        "build": "#!/bin/sh\nprintf '#!/bin/sh\\nread x; exit 4$1' > jury\nchmod +x jury\n",
        "run": "#!/bin/sh\n./jury $(cat two)\n",
        "two": "2\n",
    }
    async with court_for(tmp_path, scripted(root, sums(root, 1), files)) as court:
        judgement = await judge(court, RIGHT)
    assert judgement.verdict is Verdict.ACCEPTED, judgement.fault


async def test_a_validator_opens_its_own_data_by_name(tmp_path: Path) -> None:
    root = tmp_path / "package"
    problem = checked_by(root, sums(root, 1), "import sys; sys.exit(int(open('code').read()))")
    lay_out(root, {"output_validator/code": "42"})
    program = Program("check", "output_validator")
    problem = replace(problem, checker=ProgramCheck((program,), ProtocolName.ICPC))
    async with court_for(tmp_path, problem) as court:
        judgement = await judge(court, RIGHT)
    assert judgement.verdict is Verdict.ACCEPTED, judgement.fault


async def test_a_script_of_several_files_finds_them_where_it_runs(tmp_path: Path) -> None:
    root = tmp_path / "package"
    files = {
        "main.sh": b". ./add.sh\nadd\n",
        "add.sh": b"add() { read a b; echo $((a + b)); }\n",
    }
    async with court_for(tmp_path, sums(root, 1), "bash") as court:
        judgement = await judge_source(court, Source(files, main="main.sh"), "bash")
    assert judgement.verdict is Verdict.ACCEPTED


async def test_a_memory_limit_that_no_cage_can_have_is_reached_at_once(tmp_path: Path) -> None:
    root = tmp_path / "package"
    problem = sums(root, 1)
    problem = replace(problem, limits=replace(problem.limits, memory_bytes=1024))
    async with court_for(tmp_path, problem) as court:
        judgement = await judge(court, RIGHT)
    assert judgement.verdict is Verdict.MEMORY_LIMIT


# ---- interactors ----

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


def talked_to_by(root: Path, text: str, name: str) -> Problem:
    lay_out(root, {f"output_validator/{name}": text})
    check = ProgramCheck((Program("talk", f"output_validator/{name}"),), ProtocolName.ICPC)
    return replace(sums(root, 1), interactor=check)


@pytest.mark.parametrize(("name", "text"), [("talk.py", PYTHON), ("talk.c", C)])
@pytest.mark.parametrize(("code", "verdict"), [(42, "Accepted"), (43, "Wrong Answer")])
async def test_an_interactor_may_write_to_a_program_that_is_gone(
    tmp_path: Path, name: str, text: str, code: int, verdict: str
) -> None:
    """J4: that is no failure of the jury's: its word counts."""
    problem = talked_to_by(tmp_path / "package", text.replace("CODE", str(code)), name)
    async with court_for(tmp_path, problem, "c") as court:
        left = await judge(court, "print(1)")
        crashed = await judge(court, "raise SystemExit(3)")
    assert left.verdict == verdict, left.fault
    assert crashed.verdict is Verdict.RUNTIME_ERROR


async def test_an_interactor_that_fails_by_itself_is_a_judge_error(tmp_path: Path) -> None:
    problem = talked_to_by(tmp_path / "package", "raise SystemExit(1)", "talk.py")
    async with court_for(tmp_path, problem) as court:
        judgement = await judge(court, f"{ASKS}print(1)")
    assert judgement.verdict is Verdict.JUDGE_ERROR


async def test_a_patient_interactor_is_not_blamed_for_a_silent_program(tmp_path: Path) -> None:
    """Its own time is shorter here than the program's: the program still has the blame."""
    problem = talked_to_by(tmp_path / "package", "input()", "talk.py")
    problem = replace(problem, limits=replace(problem.limits, validation_ms=1000))
    async with court_for(tmp_path, problem) as court:
        judgement = await judge(court, "import time; time.sleep(60)")
    assert judgement.verdict is Verdict.TIME_LIMIT, judgement.fault


@pytest.mark.parametrize(
    ("said", "verdict", "score"),
    [("3\n10\n", "Partial", 3), ("0\n10\n", "Wrong Answer", 0), ("3\n0\n", "Wrong Answer", 0)],
)
async def test_pegs_rejection_may_bring_a_part_of_the_points(
    tmp_path: Path, said: str, verdict: str, score: float
) -> None:
    root = tmp_path / "package"
    lay_out(root, {"check.py": f"import sys; sys.stdout.write({said!r}); sys.exit(1)"})
    [case] = sums(root, 1).tests.cases()
    hidden = replace(case, name="secret/1", is_sample=False)
    problem = replace(
        sums(root, 1),
        tests=Group("", (hidden,), Subtask(10, Aggregation.SUM, whole_score_only=False)),
        checker=ProgramCheck((Program("check", "check.py"),), ProtocolName.DMOJ_PEG),
        scoring=True,
    )
    async with court_for(tmp_path, problem) as court:
        judgement = await judge(court, RIGHT)
    assert (str(judgement.verdict), judgement.score) == (verdict, score)
