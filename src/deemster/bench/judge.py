"""Measures what judging costs beyond the program's own time."""

import os
import secrets
import tempfile
import time
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from deemster.bench.machine import describe_machine
from deemster.domain.errors import Unavailable
from deemster.domain.judgement import JuryJudgement
from deemster.domain.language import Language
from deemster.domain.problem import Case, Compare, Comparison, Group, Problem
from deemster.domain.source import single_file
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.prepared_problem import PreparedProblem
from deemster.pipeline.judge.verify.progress import Progress
from deemster.programs.build.cached_compiler import BuildTools
from deemster.programs.build.languages import load_catalogue
from deemster.sandbox.lanes import Lanes
from deemster.settings import load_settings
from deemster.wiring.judging import open_judging

PROGRAM = """// {salt}
#include <bits/stdc++.h>
int main() {{
    unsigned long long n, x = 1;
    std::cin >> n;
    while (n--) x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    std::cout << x << std::endl;
}}
"""
SOLVING_STEPS = 30_000_000
"""Some tens of milliseconds, as a case of a contest takes."""
TIME_MS = 10_000


@dataclass(frozen=True, slots=True)
class ProblemSize:
    """A problem of `cases` equal test cases."""

    name: str
    cases: int
    steps: int


SHORT = ProblemSize("short", 11, 1)
TRIVIAL = ProblemSize("trivial", 1000, 1)
SIZES = (ProblemSize("contest", 100, SOLVING_STEPS), TRIVIAL)
CPU_CASES = 2000
"""The worker's CPU time is measured for so many cases of each problem."""


async def measure(rounds: int, progress: Progress) -> dict[str, Any]:
    settings = load_settings()
    catalogue = load_catalogue()
    language = catalogue.named("cpp")
    cores = len(os.sched_getaffinity(0))
    result: dict[str, Any] = {}
    async with open_judging(settings, catalogue, [language], lanes=cores) as (tools, lanes):
        with (
            tempfile.TemporaryDirectory() as directory,
            progress.step("Measuring", rounds * len(SIZES)) as advance,
        ):
            for size in SIZES:
                bench = JudgeBench(tools, lanes, language, Path(directory), size)
                turns = []
                for _ in range(rounds):
                    turns.append(await bench.turn())
                    advance()
                result[size.name] = median_turn(turns, size)
            cpu_ms = [
                await JudgeBench(tools, lanes, language, Path(directory), size).worker_cpu_ms()
                for size in (SHORT, TRIVIAL)
            ]
    return {
        **result,
        "worker_cpu": worker_cpu(*cpu_ms),
        "machine": describe_machine(),
    }


def worker_cpu(short_ms: float, trivial_ms: float) -> dict[str, float]:
    """CPU time of the judging process for each case, and for each submission in addition."""
    case_ms = (trivial_ms - short_ms) / (TRIVIAL.cases - SHORT.cases)
    return {
        "case_ms": round(case_ms, 3),
        "submission_ms": round(short_ms - SHORT.cases * case_ms, 2),
    }


@dataclass(frozen=True, slots=True)
class Turn:
    bare_compile_s: float
    bare_runs_s: float
    compile_s: float
    judge_s: float
    lanes_s: float


@dataclass(frozen=True, slots=True)
class JudgeBench:
    tools: BuildTools
    lanes: Lanes
    language: Language
    directory: Path
    size: ProblemSize

    async def turn(self) -> Turn:
        """Each turn has a new source, or the compile cache would have it."""
        text = PROGRAM.format(salt=secrets.token_hex(8))
        root = self._write_files(text)
        bare_compile_s = spawn(await self._bare_compile(root))
        began = time.perf_counter()
        for _ in range(self.size.cases):
            spawn((str(root / "bare"),), root / "1.in", root / "1.ans")
        bare_runs_s = time.perf_counter() - began
        judge_s, compile_s = await self._judge(root, text, width=1)
        lanes_s, _ = await self._judge(root, text, width=self.lanes.count)
        return Turn(bare_compile_s, bare_runs_s, compile_s, judge_s, lanes_s)

    async def worker_cpu_ms(self) -> float:
        """CPU time of this process for one submission, with all caches filled."""
        text = PROGRAM.format(salt=secrets.token_hex(8))
        root = self._write_files(text)
        spawn(await self._bare_compile(root))
        spawn((str(root / "bare"),), root / "1.in", root / "1.ans")
        times = -(-CPU_CASES // self.size.cases)
        async with self._prepared(root) as prepared:
            await self._judge_once(prepared, text)
            began = time.process_time()
            for _ in range(times):
                await self._judge_once(prepared, text)
        return 1000 * (time.process_time() - began) / times

    def _write_files(self, text: str) -> Path:
        root = Path(tempfile.mkdtemp(dir=self.directory))
        root.chmod(0o755)
        (root / "source.cpp").write_text(text)
        (root / "1.in").write_text(f"{self.size.steps}\n")
        return root

    async def _bare_compile(self, root: Path) -> tuple[str, ...]:
        toolchain = await self.tools.toolchains.require(self.language)
        assert self.language.compile is not None
        options = [each for each in self.language.compile.argv if each.startswith("-")]
        kept = [each for each in options if each not in {"-o", "-x"} and "{" not in each]
        source, target = str(root / "source.cpp"), str(root / "bare")
        return (toolchain.tools["compiler"], *kept, "-o", target, source)

    async def _judge(self, root: Path, text: str, width: int) -> tuple[float, float]:
        began = time.perf_counter()
        async with self._prepared(root) as prepared:
            judgement = await self._judge_once(prepared, text, width)
        took_s = time.perf_counter() - began
        return took_s, (judgement.compiled.ms / 1000 if judgement.compiled else 0.0)

    def _prepared(self, root: Path) -> AbstractAsyncContextManager[PreparedProblem]:
        spool = self.directory / "spool"
        return PreparedProblem.open(self.tools, self.lanes, root, self._problem(), spool)

    async def _judge_once(
        self, prepared: PreparedProblem, text: str, width: int = 1
    ) -> JuryJudgement:
        source = single_file(self.language, "main.cpp", text.encode())
        judgement = await prepared.judge(self.language, source, time_ms=TIME_MS, width=width)
        if judgement.verdict is not Verdict.ACCEPTED:
            raise Unavailable(
                f"The benchmark's own program got {judgement.verdict}, expected Accepted."
            )
        return judgement

    def _problem(self) -> Problem:
        case = Case("1", "1.in", "1.ans")
        cases = tuple(replace(case, name=str(number)) for number in range(self.size.cases))
        return Problem(
            slug="bench",
            format="2025-09",
            names={"en": "Bench"},
            tests=Group("", cases),
            checker=Comparison(Compare.TOKENS),
        )


def spawn(
    argv: tuple[str, ...], stdin: Path | None = None, stdout: Path | None = None
) -> float:
    """Runs the command without a sandbox; returns the wall-clock time in seconds."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, str(stdin or os.devnull), os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(stdout or os.devnull), flags, 0o644),
    ]
    began = time.perf_counter()
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    pid = os.posix_spawn(argv[0], argv, environment, file_actions=actions)
    _, status = os.waitpid(pid, 0)
    if status:
        raise Unavailable(f"{argv[0]} failed in the middle of the measurement.")
    return time.perf_counter() - began


def median_turn(turns: list[Turn], size: ProblemSize) -> dict[str, float]:
    """The figures of the turn with the median ratio."""
    ordered = sorted(turns, key=ratio)
    turn = ordered[len(ordered) // 2]
    over_s = turn.judge_s - turn.compile_s - turn.bare_runs_s
    return {
        "cases": size.cases,
        "bare_runs_s": round(turn.bare_runs_s, 3),
        "bare_compile_s": round(turn.bare_compile_s, 3),
        "compile_s": round(turn.compile_s, 3),
        "judge_s": round(turn.judge_s, 3),
        "ratio": round(ratio(turn), 3),
        "over_ms": round(1000 * over_s / size.cases, 3),
        "all_lanes_s": round(turn.lanes_s, 3),
        "lanes": round((turn.judge_s - turn.compile_s) / turn.lanes_s, 2),
    }


def ratio(turn: Turn) -> float:
    """Judging over the bare runs and the faster compile: ours may use precompiled headers."""
    return turn.judge_s / (min(turn.compile_s, turn.bare_compile_s) + turn.bare_runs_s)
