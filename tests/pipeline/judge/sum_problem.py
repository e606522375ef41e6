"""A small problem in a temporary directory, and functions that judge submissions to it."""

import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from deemster.domain.judgement import JuryJudgement, OnCase
from deemster.domain.limits import MIB
from deemster.domain.problem import (
    Case,
    Compare,
    Comparison,
    Group,
    JuryProgram,
    Problem,
    ProblemLimits,
    ProgramCheck,
    ProtocolName,
)
from deemster.domain.source import Source, single_file
from deemster.pipeline.judge.prepared_problem import PreparedProblem
from deemster.pipeline.judge.submission_judge import ignore
from deemster.programs.build.cached_compiler import BuildTools
from deemster.programs.build.languages import load_catalogue
from deemster.programs.build.toolchain import Toolchain
from deemster.sandbox.lanes import Lanes
from deemster.settings import Settings
from deemster.wiring.judging import open_compiler, open_lanes
from tests.services.kept_open import SHARED_BY_TESTS
from tests.toolchains import TOOLCHAINS

CATALOGUE = load_catalogue()

LIMITS = ProblemLimits(
    time_ms=1000,
    memory_bytes=128 * MIB,
    output_bytes=MIB,
    validation_ms=5000,
    validation_memory_bytes=512 * MIB,
)


def write_files(root: Path, files: Mapping[str, str | bytes]) -> None:
    """Makes the files readable for the sandbox's user, whatever the umask."""
    root.mkdir(exist_ok=True)
    root.chmod(0o755)
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        path.chmod(0o644)
    for path in root.rglob("*"):
        if path.is_dir():
            path.chmod(0o755)


def sum_problem(root: Path, count: int = 3) -> Problem:
    """The input is two numbers, the output is their sum."""
    files, cases = {}, []
    for number in range(1, count + 1):
        files[f"data/{number}.in"] = f"{number} {number}\n"
        files[f"data/{number}.ans"] = f"{2 * number}\n"
        sample = number == 1
        name = f"{'sample' if sample else 'secret'}/{number}"
        cases.append(Case(name, f"data/{number}.in", f"data/{number}.ans", is_sample=sample))
    write_files(root, files)
    return Problem(
        slug="sums",
        format="2025-09",
        names={"en": "Sums"},
        tests=Group("", tuple(cases)),
        limits=LIMITS,
        checker=Comparison(Compare.TOKENS),
    )


def with_validator(root: Path, problem: Problem, text: str, name: str = "check.py") -> Problem:
    """Adds an output validator of the ICPC protocol."""
    write_files(root, {f"output_validator/{name}": text})
    program = JuryProgram("check", f"output_validator/{name}")
    return replace(problem, checker=ProgramCheck((program,), ProtocolName.ICPC))


def settings_in(directory: Path) -> Settings:
    return Settings(data_dir=directory / "data", work_dir=directory / "work")


@asynccontextmanager
async def prepare(
    directory: Path, problem: Problem, *languages: str, lanes: int = 1
) -> AsyncIterator[PreparedProblem]:
    """The sandboxes are those of all tests; builds and files are this test's own."""
    settings = settings_in(directory)
    spool = directory / "spool"
    spool.mkdir(exist_ok=True)
    needed = frozenset({"python3", *languages})
    opened = await SHARED_BY_TESTS.get(
        ("lanes", needed, lanes), lambda: open_shared_lanes(needed, lanes)
    )
    async with (
        open_compiler(settings) as compiler,
        PreparedProblem.open(
            BuildTools(CATALOGUE, TOOLCHAINS, compiler, settings.work_dir),
            opened,
            directory / "package",
            problem,
            spool,
        ) as prepared,
    ):
        yield prepared
    assert not settings.work_dir.exists() or not any(settings.work_dir.iterdir())
    assert not any(spool.iterdir())


@asynccontextmanager
async def open_shared_lanes(languages: Iterable[str], count: int) -> AsyncIterator[Lanes]:
    found = await TOOLCHAINS.find_all(CATALOGUE.named(name) for name in languages)
    usable = [each for each in found if isinstance(each, Toolchain)]
    with tempfile.TemporaryDirectory() as directory:
        async with open_lanes(settings_in(Path(directory)), usable, count) as lanes:
            yield lanes


async def judge(
    prepared: PreparedProblem,
    text: str,
    language: str = "python3",
    width: int = 1,
    on_case: OnCase = ignore,
) -> JuryJudgement:
    chosen = CATALOGUE.named(language)
    source = single_file(chosen, f"main.{chosen.extensions[0]}", text.encode())
    return await judge_source(prepared, source, language, width, on_case)


async def judge_source(
    prepared: PreparedProblem,
    source: Source,
    language: str = "python3",
    width: int = 1,
    on_case: OnCase = ignore,
) -> JuryJudgement:
    time_ms = prepared.problem.limits.time_ms or 1000
    chosen = CATALOGUE.named(language)
    return await prepared.judge(chosen, source, time_ms=time_ms, width=width, on_case=on_case)
