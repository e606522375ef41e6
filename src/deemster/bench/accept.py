"""Measures what accepting a submission costs beyond a bare insert."""

import statistics
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from deemster.bench.burst import Queue, start_roles
from deemster.bench.load import bare_insert, echo_server
from deemster.bench.load.driver import Driver, LoadRequest, LoadResult
from deemster.bench.load.processes import (
    free_address,
    module,
    running,
    until_answered,
)
from deemster.bench.load.service import BenchService, open_service, submission_body
from deemster.bench.machine import describe_machine
from deemster.domain.errors import Unavailable
from deemster.pipeline.judge.verify.progress import Progress
from deemster.store import consistency
from deemster.store.pool import connection
from deemster.wiring.address import Address

USERS: Final = 3000
USERS_PER_TURN: Final = 150
"""Each turn has other users, or each user would soon have a thousand waiting submissions."""
TARGETS: Final = 3
WARM_UP_S: Final = 1.0
UNREACHABLE_LIMITS: Final[dict[str, Any]] = {
    "submit_interval_s": 0.001,
    "daily_quota": 1_000_000_000,
    "submits_per_minute_user": 1_000_000_000,
    "submits_per_minute_ip": 1_000_000_000,
    "submits_per_minute_problem": 1_000_000_000,
    "requests_per_second_user": 1_000_000,
    "queue_high": 1_000_000_000,
}
"""The API still checks these limits, but nobody reaches them."""


@dataclass(slots=True)
class Target:
    """A server under load, with the result of each turn; the first turn is a warm-up."""

    name: str
    address: Address
    with_keys: bool = False
    results: list[LoadResult] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        results = self.results[1:]
        return {
            "per_s": round(statistics.median(each.per_s for each in results), 1),
            "p50_ms": round(statistics.median(each.quantile_ms(0.5) for each in results), 2),
            "p99_ms": round(statistics.median(each.quantile_ms(0.99) for each in results), 2),
        }

    def ratio(self, bare: "Target") -> float:
        pairs = zip(self.results[1:], bare.results[1:], strict=True)
        return round(statistics.median(own.per_s / other.per_s for own, other in pairs), 3)


async def measure(
    rounds: int, seconds: float, connections: int, directory: Path | None, progress: Progress
) -> dict[str, Any]:
    users = min(USERS, (1 + TARGETS * (1 + rounds)) * USERS_PER_TURN)
    async with (
        open_service(directory, users) as service,
        start_servers(service) as (targets, echo),
    ):
        async with Driver.open() as driver:
            load = Load(driver, service, seconds, connections)
            alone = await load.turn(Target("generator", echo), min(WARM_UP_S, seconds))
            await load.take_turns(list(targets.values()), rounds, progress)
        kept = await count_kept(service, targets)
    figures = {name: target.figures() for name, target in targets.items()}
    for name in ("accept", "with_keys"):
        figures[name]["ratio"] = targets[name].ratio(targets["bare"])
    return {
        **figures,
        "kept": kept,
        "generator_per_s": round(alone.per_s),
        "connections": connections,
        "machine": describe_machine(),
    }


@asynccontextmanager
async def start_servers(
    service: BenchService,
) -> AsyncIterator[tuple[dict[str, Target], Address]]:
    """The targets, and an echo server against which the generator itself is measured."""
    async with AsyncExitStack() as stack:

        async def start(name: str, argv: list[str]) -> Address:
            address = free_address()
            log = service.log(name)
            environment = service.environment(
                host=address.host, port=address.port, **UNREACHABLE_LIMITS
            )
            process = await stack.enter_async_context(running(argv, environment, log))
            await until_answered(address, "/healthz", process, log)
            return address

        api = await stack.enter_async_context(
            start_roles(
                service,
                Queue.POSTGRES,
                roles=("api",),
                ready_path="/healthz",
                **UNREACHABLE_LIMITS,
            )
        )
        bare = await start("bare", module(bare_insert.__name__))
        targets = {
            "bare": Target("bare", bare),
            "accept": Target("accept", api),
            "with_keys": Target("with_keys", api, with_keys=True),
        }
        yield targets, await start("echo", module(echo_server.__name__))


@dataclass(slots=True)
class Load:
    driver: Driver
    service: BenchService
    seconds: float
    connections: int
    sent: int = 0
    turns: int = 0

    async def take_turns(self, targets: list[Target], rounds: int, progress: Progress) -> None:
        for target in targets:
            target.results.append(await self.turn(target, min(WARM_UP_S, self.seconds)))
        with progress.step("Measuring", rounds * len(targets)) as advance:
            for number in range(rounds):
                # The order alternates, so that it does not matter which target follows which.
                for target in targets if number % 2 else reversed(targets):
                    target.results.append(await self.turn(target, self.seconds))
                    advance()

    async def turn(self, target: Target, seconds: float) -> LoadResult:
        first_user = self.turns * USERS_PER_TURN % len(self.service.tokens)
        self.turns += 1
        request = LoadRequest(
            host=target.address.local_host,
            port=target.address.port,
            tokens=self.service.tokens[first_user : first_user + USERS_PER_TURN],
            body=submission_body(),
            first=self.sent,
            seconds=seconds,
            connections=self.connections,
            with_keys=target.with_keys,
        )
        result = await self.driver.send(request)
        self.sent += len(result.ids)
        if failed := {**result.refused, **result.errors}:
            raise Unavailable(
                f"The target {target.name} did not accept all submissions, but gave {failed}."
            )
        return result


async def count_kept(service: BenchService, targets: dict[str, Target]) -> dict[str, Any]:
    """Accepted submissions, and how many of them lack a row, an event, a job or a source."""
    kept: dict[str, Any] = {}
    async with connection(service.pool) as acquired:
        for name, target in targets.items():
            ids = [each for result in target.results for each in result.ids]
            if name == "bare":
                found = await acquired.fetchval(bare_insert.COUNT, ids)
            else:
                rows = await consistency.count_rows(acquired, ids)
                found = min(rows.rows, rows.events, rows.jobs, rows.sources)
            kept[name] = {"accepted": len(ids), "lost": len(ids) - found}
    return kept
