"""Tests for work/judge_program.py: sources and jury programs that can't be judged."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from deemster.domain.judgement import FaultCause, JuryJudgement
from deemster.domain.language import Catalogue, LanguageId
from deemster.domain.problem import Problem
from deemster.domain.problem_ceilings import ProblemCeilings
from deemster.domain.source import FILLED_BYTES, Source
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.sources import FilledTooLarge, check_filled_size
from deemster.pipeline.judge.submission_judge import ignore
from deemster.pipeline.work.judge_program import ProgramJudge
from deemster.problems.revision import Revision
from deemster.wiring.judging import open_judging
from deemster.wiring.program_judge import open_prepared_problems
from tests.pipeline.judge.sum_problem import (
    CATALOGUE,
    settings_in,
    sum_problem,
    with_validator,
)
from tests.toolchains import TOOLCHAINS

RARE = replace(
    CATALOGUE.named("perl"),
    id=LanguageId("rare"),
    name="Rare",
    aliases=(),
    extensions=("rare",),
    tools={"compiler": ("rare-compiler",)},
)
LANGUAGES = Catalogue([CATALOGUE.named("python3"), RARE])
CONSTANTS = {"many": "x" * 10_000}


@asynccontextmanager
async def open_judge(directory: Path, problem: Problem) -> AsyncIterator[ProgramJudge]:
    spool = directory / "spool"
    spool.mkdir()

    @asynccontextmanager
    async def opened(digest: str) -> AsyncIterator[Revision]:
        yield Revision(digest, directory / "package", problem)

    needed = [CATALOGUE.named("python3")]
    judging = open_judging(
        settings_in(directory), LANGUAGES, needed, lanes=1, toolchains=TOOLCHAINS
    )
    async with (
        judging as (tools, lanes),
        open_prepared_problems(tools, lanes, opened, spool, ProblemCeilings()) as problems,
    ):
        yield ProgramJudge(tools, problems, 10_000)


async def judge(directory: Path, problem: Problem, text: bytes) -> JuryJudgement:
    async with open_judge(directory, problem) as program_judge:
        result = await program_judge.judge(
            "x",
            "python3",
            Source({"main.py": text}),
            time_ms=1000,
            tries=1,
            on_part=ignore,
        )
    return result.judgement


async def test_a_program_that_was_compiled_before_is_found_before_its_slot_is_free(
    tmp_path: Path,
) -> None:
    source = Source({"main.py": b"print(sum(map(int, input().split())))"})
    found, verdicts, cached = [], [], []
    async with open_judge(tmp_path, sum_problem(tmp_path / "package")) as program_judge:
        for _ in range(2):
            async with program_judge.ready("x", "python3", source) as program:
                found.append(program.build is not None)
                result = await program.judge(time_ms=1000, tries=1, on_part=ignore)
            verdicts.append(result.judgement.verdict)
            assert result.judgement.compiled is not None
            cached.append(result.judgement.compiled.cached)
            assert result.judgement.compiled.version
    assert (found, cached) == ([False, True], [False, True])
    assert verdicts == [Verdict.ACCEPTED] * 2


async def test_x12_a_source_that_constants_make_too_large_is_a_compile_error(
    tmp_path: Path,
) -> None:
    problem = replace(sum_problem(tmp_path / "package"), constants=CONSTANTS)
    judgement = await judge(tmp_path, problem, b"{{many}}" * 10_000)
    assert judgement.verdict is Verdict.COMPILE_ERROR
    assert judgement.compiled is not None
    assert "100,000,000 bytes after the constants" in judgement.compiled.output
    assert [case.verdict for case in judgement.cases] == [None] * 3


@pytest.mark.parametrize(
    ("text", "constants", "refused"),
    [
        (b"{{many}}" * (FILLED_BYTES // 10_000), CONSTANTS, False),
        (b"{{many}}" * (FILLED_BYTES // 10_000 + 1), CONSTANTS, True),
        (b"{{other}}" * 100_000, CONSTANTS, False),
        (b"\xff{{many}}" * 10_000, {}, False),
    ],
)
def test_x12_the_size_is_known_before_constants_are_filled_in(
    text: bytes, constants: dict[str, str], refused: bool
) -> None:
    if not refused:
        check_filled_size([text], constants)
        return
    with pytest.raises(FilledTooLarge):
        check_filled_size([text], constants)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("check.unknown", "don't determine one language"),
        ("check.rare", "Rare needs rare-compiler, which is not installed"),
    ],
)
async def test_o8_a_checker_that_can_not_be_run_is_a_judge_error_with_its_reason(
    tmp_path: Path, name: str, reason: str
) -> None:
    """O8: at once, and not a failed job that is tried again."""
    root = tmp_path / "package"
    problem = with_validator(root, sum_problem(root), "", name)
    judgement = await judge(tmp_path, problem, b"print(1)")
    assert (judgement.verdict, judgement.cause) == (Verdict.JUDGE_ERROR, FaultCause.BUILD)
    fault = judgement.fault.reveal()
    assert fault.startswith(f"output_validator/{name} can't be run.")
    assert reason in fault
