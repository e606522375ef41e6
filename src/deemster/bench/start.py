"""Measures what it costs to start and end a program of each language, cold and warm."""

import os
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from deemster.bench.machine import describe_machine
from deemster.bench.other_sandboxes import PROGRAM
from deemster.bench.runs import BareRun, garbage_collector_off, take_turns
from deemster.domain.errors import Unavailable
from deemster.domain.limits import MIB, Limits
from deemster.domain.run_status import RunStatus
from deemster.domain.source import single_file
from deemster.pipeline.judge.verify.progress import Progress
from deemster.programs.build.compile import build
from deemster.programs.build.languages import load_catalogue
from deemster.programs.build.toolchain import Toolchain, Toolchains
from deemster.programs.execute import command_for
from deemster.programs.workspace import workspace
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Command
from deemster.settings import Settings, load_settings
from deemster.wiring.judging import find_usable, open_boxes
from deemster.wiring.warming_up import load_files, paths_of, toolchain_views

TURN: Final = 10
"""Runs of one kind in a row, before the next kind."""
LIMITS: Final = Limits(cpu_ms=10_000, wall_ms=30_000, processes=64)
IMPORTS: Final = "import sys, math, collections, heapq, itertools, functools, bisect\n"
PROGRAMS: Final = {"python3": {"seven modules": IMPORTS}}
"""More programs than a language's template, by language and name."""


@dataclass(frozen=True, slots=True)
class StartedProgram:
    """A program that is started many times, with what each run took."""

    name: str
    kind: str
    """`bare`, `cold` or `warm`."""
    once: Callable[[], Awaitable[float] | float]
    """Runs the program and returns its CPU time in milliseconds."""
    cpu_ms: list[float] = field(default_factory=list)
    wall_ms: list[float] = field(default_factory=list)

    async def take_turn(self, runs: int) -> None:
        await self._run()  # not counted: starts the interpreter, and fills the caches
        for _ in range(runs):
            began_ns = time.perf_counter_ns()
            self.cpu_ms.append(await self._run())
            self.wall_ms.append((time.perf_counter_ns() - began_ns) / 1e6)

    async def _run(self) -> float:
        spent = self.once()
        return spent if isinstance(spent, float) else await spent

    def figures(self) -> dict[str, float]:
        return {
            "cpu_ms": round(statistics.median(self.cpu_ms), 3),
            "wall_ms": round(statistics.median(self.wall_ms), 3),
        }


async def measure(runs: int, languages: Sequence[str], progress: Progress) -> dict[str, Any]:
    """Measures the given languages, or all that are installed."""
    settings, catalogue = load_settings(), load_catalogue()
    chosen = [catalogue.named(name) for name in languages] or list(catalogue)
    toolchains = await find_usable(Toolchains(), chosen)
    if languages and len(toolchains) < len(chosen):
        raise Unavailable("A language that you have named is not installed.")
    # As a worker does: what only boxes have read would be read from the disk in each run.
    await load_files(paths_of(toolchain_views(toolchains)), settings.warm_up_mb * MIB)
    async with (
        # One core, as in a worker: a copy on another one would begin with empty caches.
        open_boxes(settings, toolchains, cpus=sorted(os.sched_getaffinity(0))[-1:]) as boxes,
        built_programs(settings, boxes, toolchains) as programs,
    ):
        started = [
            StartedProgram("true", "bare", BareRun((PROGRAM,)).cpu_ms),
            in_sandbox("true", "cold", boxes, Command((PROGRAM,))),
        ]
        started += [
            in_sandbox(name, "warm" if warm else "cold", boxes, replace(command, warm=warm))
            for name, command in programs
            for warm in ([False, True] if command.warm else [False])
        ]
        with garbage_collector_off():
            await take_turns(started, runs, TURN, progress)
    return {**compare(started), "machine": describe_machine()}


@asynccontextmanager
async def built_programs(
    settings: Settings, boxes: Boxes, toolchains: Iterable[Toolchain]
) -> AsyncIterator[list[tuple[str, Command]]]:
    commands = []
    async with AsyncExitStack() as stack:
        for toolchain in toolchains:
            language = toolchain.language
            texts = {language.name: language.template} | {
                f"{language.name}, {name}": text
                for name, text in PROGRAMS.get(language.id, {}).items()
            }
            for name, text in texts.items():
                directory = await stack.enter_async_context(workspace(settings.work_dir))
                source = single_file(language, language.source.file, text.encode())
                built = await build(boxes, toolchain, source, directory)
                if built.program is None:
                    raise Unavailable(f"The template of {language.name} does not compile.")
                commands.append((name, command_for(built.program, LIMITS)))
        yield commands


def in_sandbox(name: str, kind: str, boxes: Boxes, command: Command) -> StartedProgram:
    async def once() -> float:
        report = await boxes.run(command)
        if report.status is not RunStatus.OK:
            raise Unavailable(f"The program in {name} ended with {report.status}.")
        return report.cpu_ns / 1e6

    return StartedProgram(name, kind, once)


def compare(started: Iterable[StartedProgram]) -> dict[str, Any]:
    """All figures: `over_true` is CPU time over that of bare `true`, `over_cold` of cold."""
    programs: dict[str, dict[str, dict[str, float]]] = {}
    for each in started:
        programs.setdefault(each.name, {})[each.kind] = each.figures()
    bare_ms = programs["true"]["bare"]["cpu_ms"]
    for kinds in programs.values():
        for kind, figures in kinds.items():
            figures["over_true"] = round(figures["cpu_ms"] / bare_ms, 2)
            if kind == "warm":
                figures["over_cold"] = round(figures["cpu_ms"] / kinds["cold"]["cpu_ms"], 3)
    return {"programs": programs}
