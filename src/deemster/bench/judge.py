"""`deemster bench judge`: what judging costs beyond the program's own time."""

import json
import os
import secrets
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer
import uvloop
from rich.console import Console
from rich.table import Table

from deemster.bench.sandbox import describe_machine
from deemster.domain.errors import Unavailable
from deemster.domain.language import Language
from deemster.domain.problem import Case, Compare, Comparison, Group, Problem
from deemster.domain.source import single_file
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.build.compiler import BuildTools
from deemster.pipeline.judge.build.languages import load_catalogue
from deemster.pipeline.judge.prepared_problem import PreparedProblem
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
"""Some tens of milliseconds: what a case of a contest takes."""
TIME_MS = 10_000


@dataclass(frozen=True, slots=True)
class Load:
    """A problem to be judged, and the same work done bare."""

    name: str
    cases: int
    steps: int


LOADS = (Load("contest", 100, SOLVING_STEPS), Load("trivial", 1000, 1))


def judge(
    rounds: Annotated[
        int, typer.Option(help="Times that everything is measured.", min=1, max=100)
    ] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure judging: a C++ problem of 100 cases, and one of 1,000 trivial ones.

    The same compile and the same runs are done bare, by posix_spawn, in the same turn: `ratio`
    is judging over the bare runs and one compile; `over_ms` is what a case costs beyond its
    run. Judging uses one lane, as bare does one core; `lanes` tells what all cores bring.
    """
    result = uvloop.run(measure(rounds))
    if as_json:
        print(json.dumps(result))
    else:
        Console().print(as_table(result))


async def measure(rounds: int) -> dict[str, Any]:
    settings = load_settings()
    catalogue = load_catalogue()
    language = catalogue.named("cpp")
    cores = len(os.sched_getaffinity(0))
    result: dict[str, Any] = {}
    async with open_judging(settings, catalogue, [language], lanes=cores) as (workshop, lanes):
        with tempfile.TemporaryDirectory() as place:
            for load in LOADS:
                bench = Bench(workshop, lanes, language, Path(place), load)
                turns = [await bench.turn() for _ in range(rounds)]
                result[load.name] = median(turns, load)
    return {**result, "machine": describe_machine()}


@dataclass(frozen=True, slots=True)
class Turn:
    bare_compile_s: float
    bare_runs_s: float
    compile_s: float
    judge_s: float
    lanes_s: float


@dataclass(frozen=True, slots=True)
class Bench:
    workshop: BuildTools
    lanes: Lanes
    language: Language
    place: Path
    load: Load

    async def turn(self) -> Turn:
        """New source each time, or the compile cache would answer."""
        text = PROGRAM.format(salt=secrets.token_hex(8))
        root = self._lay_out(text)
        bare_compile_s = spawn(await self._bare_compile(root))
        began = time.perf_counter()
        for _ in range(self.load.cases):
            spawn((str(root / "bare"),), root / "1.in", root / "1.ans")
        bare_runs_s = time.perf_counter() - began
        judge_s, compile_s = await self._judge(root, text, width=1)
        lanes_s, _ = await self._judge(root, text, width=self.lanes.count)
        return Turn(bare_compile_s, bare_runs_s, compile_s, judge_s, lanes_s)

    def _lay_out(self, text: str) -> Path:
        root = Path(tempfile.mkdtemp(dir=self.place))
        root.chmod(0o755)
        (root / "source.cpp").write_text(text)
        (root / "1.in").write_text(f"{self.load.steps}\n")
        return root

    async def _bare_compile(self, root: Path) -> tuple[str, ...]:
        toolchain = await self.workshop.toolchains.require(self.language)
        assert self.language.compile is not None
        options = [each for each in self.language.compile.argv if each.startswith("-")]
        kept = [each for each in options if each not in {"-o", "-x"} and "{" not in each]
        source, target = str(root / "source.cpp"), str(root / "bare")
        return (toolchain.tools["compiler"], *kept, "-o", target, source)

    async def _judge(self, root: Path, text: str, width: int) -> tuple[float, float]:
        problem = self._problem()
        source = single_file(self.language, "main.cpp", text.encode())
        spool = self.place / "spool"
        began = time.perf_counter()
        async with PreparedProblem.open(
            self.workshop, self.lanes, root, problem, spool
        ) as court:
            judgement = await court.judge(self.language, source, time_ms=TIME_MS, width=width)
        took = time.perf_counter() - began
        if judgement.verdict is not Verdict.ACCEPTED:
            raise Unavailable(f"The benchmark's own program is {judgement.verdict}.")
        return took, (judgement.compiled.ms / 1000 if judgement.compiled else 0.0)

    def _problem(self) -> Problem:
        case = Case("1", "1.in", "1.ans")
        cases = tuple(replace(case, name=str(number)) for number in range(self.load.cases))
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
    """Runs it bare; seconds by the clock."""
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


def median(turns: list[Turn], load: Load) -> dict[str, float]:
    """Of several turns the one with the median ratio."""
    ordered = sorted(turns, key=ratio)
    turn = ordered[len(ordered) // 2]
    over_s = turn.judge_s - turn.compile_s - turn.bare_runs_s
    return {
        "cases": load.cases,
        "bare_runs_s": round(turn.bare_runs_s, 3),
        "bare_compile_s": round(turn.bare_compile_s, 3),
        "compile_s": round(turn.compile_s, 3),
        "judge_s": round(turn.judge_s, 3),
        "ratio": round(ratio(turn), 3),
        "over_ms": round(1000 * over_s / load.cases, 3),
        "all_lanes_s": round(turn.lanes_s, 3),
        "lanes": round((turn.judge_s - turn.compile_s) / turn.lanes_s, 2),
    }


def ratio(turn: Turn) -> float:
    """Over the bare runs and the quicker compile: ours may have its headers ready."""
    return turn.judge_s / (min(turn.compile_s, turn.bare_compile_s) + turn.bare_runs_s)


def as_table(result: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    headings = (
        "cases",
        "bare runs s",
        "judged s",
        "ratio",
        "over bare, ms a case",
        "all lanes s",
    )
    table.add_column("problem")
    for heading in headings:
        table.add_column(heading, justify="right")
    for load in LOADS:
        row = result[load.name]
        keys = ("cases", "bare_runs_s", "judge_s", "ratio", "over_ms", "all_lanes_s")
        table.add_row(load.name, *(f"{row[key]:g}" for key in keys))
    return table
