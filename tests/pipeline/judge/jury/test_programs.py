"""Tests for jury/programs.py: build scripts, and data files next to programs."""

from dataclasses import replace
from pathlib import Path

from deemster.domain.problem import JuryProgram, Problem, ProgramCheck, ProtocolName
from deemster.domain.source import Source
from deemster.domain.verdict import Verdict
from tests.pipeline.judge.sum_problem import (
    judge,
    judge_source,
    prepare,
    sum_problem,
    with_validator,
    write_files,
)

RIGHT = "print(sum(map(int, input().split())))"


def scripted(root: Path, problem: Problem, files: dict[str, str]) -> Problem:
    write_files(root, {f"output_validator/{name}": text for name, text in files.items()})
    program = JuryProgram("check", "output_validator", scripted=True)
    return replace(problem, checker=ProgramCheck((program,), ProtocolName.ICPC))


async def test_a_script_can_run_what_it_built_by_a_relative_path(tmp_path: Path) -> None:
    root = tmp_path / "package"
    files = {
        "build": "#!/bin/sh\nprintf '#!/bin/sh\\nread x; exit 4$1' > jury\nchmod +x jury\n",
        "run": "#!/bin/sh\n./jury $(cat two)\n",
        "two": "2\n",
    }
    async with prepare(tmp_path, scripted(root, sum_problem(root, 1), files)) as prepared:
        judgement = await judge(prepared, RIGHT)
    assert judgement.verdict is Verdict.ACCEPTED, judgement.fault


async def test_a_validator_can_open_its_data_files_by_name(tmp_path: Path) -> None:
    root = tmp_path / "package"
    problem = with_validator(
        root, sum_problem(root, 1), "import sys; sys.exit(int(open('code').read()))"
    )
    write_files(root, {"output_validator/code": "42"})
    program = JuryProgram("check", "output_validator")
    problem = replace(problem, checker=ProgramCheck((program,), ProtocolName.ICPC))
    async with prepare(tmp_path, problem) as prepared:
        judgement = await judge(prepared, RIGHT)
    assert judgement.verdict is Verdict.ACCEPTED, judgement.fault


async def test_a_script_finds_its_other_files_in_the_working_directory(tmp_path: Path) -> None:
    root = tmp_path / "package"
    files = {
        "main.sh": b". ./add.sh\nadd\n",
        "add.sh": b"add() { read a b; echo $((a + b)); }\n",
    }
    async with prepare(tmp_path, sum_problem(root, 1), "bash") as prepared:
        judgement = await judge_source(prepared, Source(files, main="main.sh"), "bash")
    assert judgement.verdict is Verdict.ACCEPTED
