"""Measures whether stages after the verdict delay verdicts under load (S5)."""

import asyncio
import itertools
import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from deemster.bench.burst import NO_LIMITS, Queue, start_roles
from deemster.bench.doubling_problem import PACKAGE, SOURCES
from deemster.bench.latency import quantile, verdict_ms
from deemster.bench.load.api_client import ApiClient
from deemster.bench.load.service import BenchService, make_problem, open_service
from deemster.bench.machine import describe_machine
from deemster.domain.ids import ProblemId
from deemster.domain.job import Task
from deemster.pipeline.judge.verify.progress import Progress
from deemster.pipeline.verdict.follow_up import enter_stage
from deemster.store import consistency, problems
from deemster.store.consistency import SubmissionInStage
from deemster.store.lifecycle import StateChanged
from deemster.store.pool import connection, transaction
from deemster.wiring.address import Address

GOAL: Final = 1.05
WITHOUT: Final = ProblemId("prob_verdict")
WITH: Final = ProblemId("prob_stages")
STAGES: Final[dict[ProblemId, frozenset[Task]]] = {
    WITHOUT: frozenset(),
    WITH: frozenset({Task.ANALYZE, Task.EVALUATE}),
}
NEVER_SENT: Final = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Plan:
    rounds: int
    """Turns with stages, and as many without."""
    submissions: int
    """Number of submissions in each turn."""
    clients: int
    """Each is another user, who waits for the verdict before submitting again."""


async def measure(
    plan: Plan, queue: Queue, directory: Path | None, progress: Progress
) -> dict[str, Any]:
    async with open_service(directory, plan.clients) as service:
        for problem, stages in STAGES.items():
            await make_problem(service.settings, service.directory / "double", problem, PACKAGE)
            async with connection(service.pool) as acquired:
                await problems.set_stages(acquired, problem, stages)
        async with start_roles(service, queue, **NO_LIMITS) as address:
            found = await take_turns(service, address, plan, progress)
    off, on = (sorted(itertools.chain(*found[problem])) for problem in (WITHOUT, WITH))
    # Neighbouring turns are compared, because other load on the machine comes and goes.
    ratios = [
        median(with_stages) / median(without)
        for without, with_stages in zip(found[WITHOUT], found[WITH], strict=True)
    ]
    return {
        "without_stages": figures(off),
        "with_stages": figures(on),
        "ratio_of_p50": round(median(ratios), 3),
        "goal": GOAL,
        "rounds": plan.rounds,
        "submissions": plan.submissions,
        "clients": plan.clients,
        "queue": queue.value,
        "machine": describe_machine(),
    }


async def take_turns(
    service: BenchService, address: Address, plan: Plan, progress: Progress
) -> dict[ProblemId, list[list[float]]]:
    """Returns the milliseconds from POST to verdict, by problem and turn."""
    found: dict[ProblemId, list[list[float]]] = {problem: [] for problem in STAGES}
    warm_up = Plan(1, 2 * plan.clients, plan.clients)
    with progress.step("Measuring", 2 * plan.rounds) as advance:
        for problem in STAGES:
            await one_turn(service, address, problem, warm_up)
        for number in range(plan.rounds):
            # Either kind is the first of a pair as often as the other.
            for problem in list(STAGES)[:: 1 if number % 2 else -1]:
                found[problem].append(await one_turn(service, address, problem, plan))
                advance()
    return found


async def one_turn(
    service: BenchService, address: Address, problem: ProblemId, plan: Plan
) -> list[float]:
    """Drops the stages that are left, so that they do not disturb the next turn."""
    waiting = iter(range(plan.submissions))
    told_ms: list[float] = []

    async def submit_some(token: str) -> None:
        async with ApiClient.open(address, token) as api:
            told_ms.extend([await verdict_ms(api, new_body(problem)) for _ in waiting])

    async with asyncio.TaskGroup() as group:
        for token in service.tokens:
            group.create_task(submit_some(token))
    while left := await stages_left(service):
        for each in left:
            with suppress(StateChanged):
                async with transaction(service.pool) as writing:
                    await enter_stage(writing, each.id, each.attempt, (), after=each.stage)
    return told_ms


def new_body(problem: ProblemId) -> str:
    # Each source is new, so that neither the compiler nor an analyser finds it in its cache.
    source = f"{SOURCES['c']}/* {next(NEVER_SENT)} */\n"
    return json.dumps({"problem_id": problem, "language": "c", "source_code": source})


async def stages_left(service: BenchService) -> list[SubmissionInStage]:
    async with connection(service.pool) as acquired:
        return await consistency.list_in_stages(acquired)


def figures(told_ms: list[float]) -> dict[str, float]:
    return {
        "verdict_p50_ms": round(quantile(told_ms, 0.5), 1),
        "verdict_p95_ms": round(quantile(told_ms, 0.95), 1),
    }
