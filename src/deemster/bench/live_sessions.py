"""Measures how long executions wait when many sessions run code again and again."""

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from deemster.bench.latency import quantile
from deemster.bench.load.api_client import ApiClient
from deemster.bench.load.service import BenchService
from deemster.pipeline.judge.verify.progress import Progress
from deemster.wiring.address import Address

PROGRAMS: Final = {
    "python3": "print(sum(range({number})))\n",
    "c": '#include <stdio.h>\nint main(void) {{ printf("%d\\n", {number}); }}\n',
}
"""Half of the sessions have a compiler. Each run has a new source, as when people edit."""
SESSIONS_PATH: Final = "/v1/code-sessions"
GOAL_MS: Final = 2000.0
"""No execution waits longer."""
SEED: Final = 12


@dataclass(frozen=True, slots=True)
class SessionPlan:
    sessions: int
    every_s: float
    """Time between two runs of one session."""
    runs: int
    """Number of runs of each session."""


@dataclass(frozen=True, slots=True)
class SessionRun:
    waited_ms: float
    """From sending the request until the program was started."""
    told_ms: float
    """From sending the request until the client had the result."""
    is_completed: bool


async def measure_sessions(
    service: BenchService, address: Address, plan: SessionPlan, progress: Progress
) -> dict[str, Any]:
    """Each session is of another user, and begins at a random time."""
    offsets = random.Random(SEED)  # noqa: S311 - no secret
    bench = SessionBench(address, plan, time.perf_counter())
    with progress.step("Sessions", plan.sessions * plan.runs) as advance:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(
                    bench.run_session(number, token, offsets.uniform(0, plan.every_s), advance)
                )
                for number, token in enumerate(service.tokens[: plan.sessions])
            ]
    return figures(plan, [run for task in tasks for run in task.result()])


@dataclass(frozen=True, slots=True)
class SessionBench:
    address: Address
    plan: SessionPlan
    began: float

    async def run_session(
        self, number: int, token: str, offset_s: float, advance: Callable[[], None]
    ) -> list[SessionRun]:
        language = list(PROGRAMS)[number % len(PROGRAMS)]
        async with ApiClient.open(self.address, token) as api:
            made = await api.send("POST", SESSIONS_PATH, {"language": language})
        session = f"{SESSIONS_PATH}/{made['session_id']}"
        runs = []
        for turn in range(self.plan.runs):
            due = self.began + offset_s + turn * self.plan.every_s
            await asyncio.sleep(due - time.perf_counter())
            source = PROGRAMS[language].format(number=number * self.plan.runs + turn)
            # A connection for each run: the API closes those that are idle between two runs.
            async with ApiClient.open(self.address, token) as api:
                await api.send("PATCH", session, {"source_code": source})
                runs.append(await run_once(api, session))
            advance()
        return runs


async def run_once(api: ApiClient, session: str) -> SessionRun:
    sent_s = time.time()
    accepted = await api.send("POST", f"{session}/run", {})
    path = f"/v1/executions/{accepted['execution_id']}?wait=30"
    shown = await api.get(path)
    while shown["status"] in {"QUEUED", "RUNNING"}:
        shown = await api.get(path)
    told_s = time.time()
    started_s = datetime.fromisoformat(shown["started_at"]).timestamp()
    return SessionRun(
        waited_ms=(started_s - sent_s) * 1000,
        told_ms=(told_s - sent_s) * 1000,
        is_completed=shown["status"] == "COMPLETED",
    )


def figures(plan: SessionPlan, runs: Sequence[SessionRun]) -> dict[str, Any]:
    waited_ms = sorted(run.waited_ms for run in runs)
    told_ms = sorted(run.told_ms for run in runs)
    return {
        "sessions": plan.sessions,
        "every_s": plan.every_s,
        "executions": len(runs),
        "failed": sum(not run.is_completed for run in runs),
        "wait_p50_ms": round(quantile(waited_ms, 0.5), 1),
        "wait_p99_ms": round(quantile(waited_ms, 0.99), 1),
        "wait_max_ms": round(waited_ms[-1], 1),
        "told_p50_ms": round(quantile(told_ms, 0.5), 1),
        "told_p99_ms": round(quantile(told_ms, 0.99), 1),
        "goal_ms": GOAL_MS,
        "goal_met": waited_ms[-1] <= GOAL_MS,
    }
