"""Measures live coding: waits of sessions, one short program, and terminals beside judging."""

import asyncio
import itertools
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from deemster.bench.burst import Queue, start_roles
from deemster.bench.judge import spawn
from deemster.bench.latency import quantile
from deemster.bench.live_sessions import SessionPlan, measure_sessions
from deemster.bench.live_terminals import PROBLEM, TerminalPlan, measure_terminals, package
from deemster.bench.load.api_client import ApiClient
from deemster.bench.load.service import BenchService, make_problem, open_service
from deemster.bench.machine import describe_machine
from deemster.domain.errors import Unavailable
from deemster.domain.language import fill
from deemster.pipeline.judge.verify.progress import Progress
from deemster.programs.build.languages import load_catalogue
from deemster.programs.build.toolchain import Toolchains
from deemster.wiring.address import Address

PAUSE_S: Final = 0.05
"""Between two programs, so that none delays the next."""
WARM_UP: Final = 5
GOAL_RATIO: Final = 1.5
GOAL_OVER_MS: Final = 25.0
"""A program may take this time more than the bare start, times the ratio."""


@dataclass(frozen=True, slots=True)
class Plan:
    sessions: SessionPlan
    programs: int
    """Number of measured runs of the one-line program."""
    terminals: TerminalPlan


async def measure(
    plan: Plan, queue: Queue, directory: Path | None, progress: Progress
) -> dict[str, Any]:
    users = max(plan.sessions.sessions, plan.terminals.terminals)
    async with open_service(directory, users) as service:
        files = package(plan.terminals)
        await make_problem(service.settings, service.directory / "sieve", PROBLEM, files)
        async with start_roles(service, queue) as address:
            one_line = OneLineBench(service, address, await bare_command(service.directory))
            return {
                "one_line": await one_line.measure(plan.programs, progress),
                "sessions": await measure_sessions(service, address, plan.sessions, progress),
                "terminals": await measure_terminals(
                    service, address, plan.terminals, progress
                ),
                "queue": queue.value,
                "machine": describe_machine(),
            }


async def bare_command(directory: Path) -> tuple[str, ...]:
    """The command by which the language starts the program, without a sandbox."""
    language = load_catalogue().named("python3")
    toolchain = await Toolchains().require(language)
    (directory / "main.py").write_text(source_of(0))
    values = {**toolchain.tools, "code": str(directory), "entry": "main.py"}
    return fill(language.run.argv, values)


def source_of(number: int) -> str:
    return f"print({number} + 1)\n"


@dataclass(frozen=True, slots=True)
class OneLineBench:
    """From the POST of a one-line program until its client has the result, by `?wait=`."""

    service: BenchService
    address: Address
    bare: tuple[str, ...]

    async def measure(self, programs: int, progress: Progress) -> dict[str, Any]:
        """A bare start, the same program again, and a new program take turns."""
        bare_ms, told_ms, new_ms = [], [], []
        numbers = itertools.count(1)
        async with ApiClient.open(self.address, self.service.admin) as api:
            with progress.step("One-line programs", WARM_UP + programs) as advance:
                for _ in range(WARM_UP + programs):
                    bare_ms.append(spawn(self.bare) * 1000)
                    told_ms.append(await told_after_ms(api, 0))
                    new_ms.append(await told_after_ms(api, next(numbers)))
                    advance()
        bare, told, new = (
            quantile(sorted(each[WARM_UP:]), 0.5) for each in (bare_ms, told_ms, new_ms)
        )
        goal = GOAL_RATIO * bare + GOAL_OVER_MS
        return {
            "programs": programs,
            "bare_p50_ms": round(bare, 1),
            "told_p50_ms": round(told, 1),
            "told_p99_ms": round(quantile(sorted(told_ms[WARM_UP:]), 0.99), 1),
            "new_source_p50_ms": round(new, 1),
            "goal_ms": round(goal, 1),
            "goal_met": told <= goal,
        }


async def told_after_ms(api: ApiClient, number: int) -> float:
    await asyncio.sleep(PAUSE_S)
    began = time.perf_counter()
    program = {"language": "python3", "source_code": source_of(number)}
    accepted = await api.send("POST", "/v1/executions", program)
    shown = await api.get(f"/v1/executions/{accepted['execution_id']}?wait=30")
    if shown.get("stdout") != f"{number + 1}\n":
        raise Unavailable(f"The one-line program did not run as expected: {shown}.")
    return (time.perf_counter() - began) * 1000
