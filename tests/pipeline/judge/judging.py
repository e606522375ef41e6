"""A small problem, made in a directory of the test, and submissions judged against it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from deemster.domain.judgement import JuryJudgement
from deemster.domain.limits import MIB
from deemster.domain.problem import (
    Case,
    Compare,
    Comparison,
    Group,
    Problem,
    ProblemLimits,
    Program,
    ProgramCheck,
    ProtocolName,
)
from deemster.domain.source import Source, single_file
from deemster.pipeline.judge.build.languages import load_catalogue
from deemster.pipeline.judge.prepared_problem import PreparedProblem
from deemster.settings import Settings
from deemster.wiring.judging import open_judging

CATALOGUE = load_catalogue()

LIMITS = ProblemLimits(
    time_ms=1000,
    memory_bytes=128 * MIB,
    output_bytes=MIB,
    validation_ms=5000,
    validation_memory_bytes=512 * MIB,
)


def lay_out(root: Path, files: Mapping[str, str | bytes]) -> None:
    """Readable by the box's own user, whatever the umask."""
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


def sums(root: Path, count: int = 3) -> Problem:
    """Two numbers in, their sum out."""
    files, cases = {}, []
    for number in range(1, count + 1):
        files[f"data/{number}.in"] = f"{number} {number}\n"
        files[f"data/{number}.ans"] = f"{2 * number}\n"
        sample = number == 1
        name = f"{'sample' if sample else 'secret'}/{number}"
        cases.append(Case(name, f"data/{number}.in", f"data/{number}.ans", is_sample=sample))
    lay_out(root, files)
    return Problem(
        slug="sums",
        format="2025-09",
        names={"en": "Sums"},
        tests=Group("", tuple(cases)),
        limits=LIMITS,
        checker=Comparison(Compare.TOKENS),
    )


def checked_by(root: Path, problem: Problem, text: str, name: str = "check.py") -> Problem:
    """With a validator of the ICPC protocol."""
    lay_out(root, {f"output_validator/{name}": text})
    program = Program("check", f"output_validator/{name}")
    return replace(problem, checker=ProgramCheck((program,), ProtocolName.ICPC))


def settings_in(directory: Path) -> Settings:
    return Settings(data_dir=directory / "data", work_dir=directory / "work")


@asynccontextmanager
async def court_for(
    directory: Path, problem: Problem, *languages: str, lanes: int = 1
) -> AsyncIterator[PreparedProblem]:
    settings = settings_in(directory)
    needed = [CATALOGUE.named(name) for name in {"python3", *languages}]
    spool = directory / "spool"
    spool.mkdir(exist_ok=True)
    async with (
        open_judging(settings, CATALOGUE, needed, lanes=lanes) as (workshop, opened),
        PreparedProblem.open(workshop, opened, directory / "package", problem, spool) as court,
    ):
        yield court
    assert not settings.work_dir.exists() or not any(settings.work_dir.iterdir())
    assert not any(spool.iterdir())


async def judge(
    court: PreparedProblem, text: str, language: str = "python3", width: int = 1
) -> JuryJudgement:
    chosen = CATALOGUE.named(language)
    source = single_file(chosen, f"main.{chosen.extensions[0]}", text.encode())
    return await judge_source(court, source, language, width)


async def judge_source(
    court: PreparedProblem, source: Source, language: str = "python3", width: int = 1
) -> JuryJudgement:
    time_ms = court.problem.limits.time_ms or 1000
    chosen = CATALOGUE.named(language)
    return await court.judge(chosen, source, time_ms=time_ms, width=width)
