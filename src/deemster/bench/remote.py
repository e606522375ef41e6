"""Measures judging on a judge host beside judging by a local worker (M2, M3)."""

import itertools
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

from deemster.bench import doubling_problem, latency
from deemster.bench.burst import NO_LIMITS, Queue, start_roles
from deemster.bench.load import service as one_case
from deemster.bench.load.api_client import ApiClient
from deemster.bench.load.driver import NUMBER_MARK
from deemster.bench.load.processes import role, running
from deemster.bench.load.queued_submissions import judged_s, submit_all
from deemster.bench.load.service import BenchService, make_problem, open_service
from deemster.bench.machine import describe_machine
from deemster.domain.judge_host import JudgeOn, derive_key
from deemster.pipeline.judge.verify.progress import Progress
from deemster.settings import child_environment
from deemster.store import judge_hosts
from deemster.store.pool import transaction
from deemster.wiring.address import Address
from deemster.wiring.secret import secret_of

GOAL: Final = 0.8
ROLES: Final = ("api", "relay", "dispatcher", "keeper")
ALIVE: Final = "/healthz"
"""The API is not ready before its judge host, which needs the API, has registered."""
WARM_UP: Final = 8
"""Submissions before the first turn: they compile the program and fetch the problems."""
NEVER_SENT: Final = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Plan:
    rounds: int
    """Turns of each side."""
    submissions: int
    """Number of submissions in each turn."""
    single: int
    """Submissions of each turn that one client sends one after another."""


@dataclass(frozen=True, slots=True)
class Side:
    """A service with one slot, which is that of its worker or that of a judge host."""

    name: str
    service: BenchService
    address: Address
    per_s: list[float] = field(default_factory=list)
    """Submissions per second, one figure for each turn."""
    told_ms: list[float] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        return {
            "per_s": round(median(self.per_s), 1),
            "verdict_p50_ms": round(median(self.told_ms), 1),
        }


async def measure(
    plan: Plan, queue: Queue, directory: Path | None, progress: Progress
) -> dict[str, Any]:
    async with open_local(queue, directory) as local, open_remote(queue, directory) as remote:
        await take_turns(local, remote, plan, progress)
    # Neighbouring turns are compared, because other load on the machine comes and goes.
    ratios = [far / near for near, far in zip(local.per_s, remote.per_s, strict=True)]
    return {
        "local": local.figures(),
        "remote": remote.figures(),
        "ratio": round(median(ratios), 3),
        "lowest_ratio": round(min(ratios), 3),
        "highest_ratio": round(max(ratios), 3),
        "goal": GOAL,
        "rounds": plan.rounds,
        "submissions": plan.submissions,
        "queue": queue.value,
        "machine": describe_machine(),
    }


@asynccontextmanager
async def open_local(queue: Queue, directory: Path | None) -> AsyncIterator[Side]:
    async with (
        open_with_problems(directory) as service,
        start_roles(service, queue, slots=1, **NO_LIMITS) as address,
    ):
        yield Side("local", service, address)


@asynccontextmanager
async def open_remote(queue: Queue, directory: Path | None) -> AsyncIterator[Side]:
    judge_on = JudgeOn.HOSTS.value
    async with (
        open_with_problems(directory) as service,
        start_roles(
            service, queue, roles=ROLES, ready_path=ALIVE, judge_on=judge_on, **NO_LIMITS
        ) as address,
        start_host(service, address),
    ):
        yield Side("remote", service, address)


@asynccontextmanager
async def open_with_problems(directory: Path | None) -> AsyncIterator[BenchService]:
    async with open_service(directory, 1) as service:
        package = service.directory / "double"
        await make_problem(
            service.settings, package, doubling_problem.PROBLEM, doubling_problem.PACKAGE
        )
        yield service


@asynccontextmanager
async def start_host(service: BenchService, address: Address) -> AsyncIterator[None]:
    environment = await host_environment(service, address)
    async with running(role("judgehost"), environment, service.log("judgehost")):
        yield


async def host_environment(service: BenchService, address: Address) -> dict[str, str]:
    """A judge host has no setting of the service but the URL and its own key (M1)."""
    async with transaction(service.pool) as writing:
        host = await judge_hosts.add(writing, "bench", created_by="bench")
    key = derive_key(secret_of(service.settings), host, 1)
    inherited = child_environment()
    own = child_environment(
        data_dir=service.directory / "host",
        work_dir=service.directory / "host-work",
        judgehost_server=address.url,
        judgehost_key=key.text,
        slots=1,
        precompile=False,
    )
    return {
        name: value
        for name, value in own.items()
        if not name.startswith("DEEMSTER_") or inherited.get(name) != value
    }


async def take_turns(local: Side, remote: Side, plan: Plan, progress: Progress) -> None:
    sides = (local, remote)
    with progress.step("Measuring", 2 * plan.rounds) as advance:
        for side in sides:
            await drain(side, WARM_UP)
        for number in range(plan.rounds):
            # Either side is the first of a pair as often as the other.
            for side in sides[:: 1 if number % 2 else -1]:
                side.per_s.append(await drain(side, plan.submissions))
                side.told_ms.extend(await submit_one_by_one(side, plan.single))
                advance()


async def drain(side: Side, count: int) -> float:
    """Submissions per second, from the first start to the last verdict."""
    ids = await submit_all(side.address, side.service.hog, new_bodies(count))
    return count / await judged_s(side.service, ids, side.name)


async def submit_one_by_one(side: Side, count: int) -> list[float]:
    """The milliseconds from each POST to its verdict."""
    async with ApiClient.open(side.address, side.service.hog) as api:
        return [await latency.verdict_ms(api, body) for body in new_bodies(count)]


def new_bodies(count: int) -> Iterator[str]:
    """A C program that is in the compile cache, and a new Python program, in turns."""
    cached, new = json.dumps(latency.SUBMISSIONS.body), one_case.submission_body()
    for number in itertools.islice(NEVER_SENT, count):
        yield new.replace(NUMBER_MARK, str(number)) if number % 2 else cached
