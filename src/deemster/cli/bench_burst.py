"""`deemster bench burst`: many submissions in a minute, with everything running."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import httpx
import typer
import uvloop
from rich.console import Console
from rich.table import Table

from deemster.cli.bench_sandbox import describe_machine
from deemster.cli.load.driver import Driver
from deemster.cli.load.estimates import Estimates
from deemster.cli.load.order import Order, Tale
from deemster.cli.load.redis_server import run_redis
from deemster.cli.load.servers import free_address, role, running, until_answered
from deemster.cli.load.stage import Stage, body, open_stage
from deemster.cli.up.address import Address
from deemster.domain.errors import Unavailable
from deemster.store import census, pulse
from deemster.store.pool import connection

ROLES: Final = ("api", "relay", "worker", "keeper")
CONNECTIONS: Final = 200
WARM: Final = 40
"""Submissions before it begins: the first of all pay for what is made once."""
LOOK_S: Final = 0.5
SETTLED_S: Final = 15.0
"""When the rush is over, this machine judges faster; what the API tells follows that."""
STUCK_S: Final = 120.0


class Queue(StrEnum):
    POSTGRES = "postgres"
    REDIS = "redis"


def burst(
    count: Annotated[int, typer.Option(help="How many submissions.", min=1)] = 10_000,
    seconds: Annotated[
        float, typer.Option(help="In what time they come, evenly.", min=0.1)
    ] = 60.0,
    users: Annotated[int, typer.Option(help="How many accounts send them.", min=1)] = 200,
    watch: Annotated[
        float, typer.Option(help="Seconds that judging is watched afterwards.", min=0)
    ] = 60.0,
    until_judged: Annotated[
        bool, typer.Option("--until-judged", help="Watch until the last one has its verdict.")
    ] = False,
    queue: Annotated[Queue, typer.Option(help="Where the queue lies.")] = Queue.POSTGRES,
    place: Annotated[
        Path | None,
        typer.Option(
            "--data",
            help="A directory on the disk that is to be measured; /var/tmp by default.",
            exists=True,
            file_okay=False,
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure a rush: 10,000 submissions in 60 s, while this machine also judges them.

    A private service is started with all its roles and a private Postgres that syncs every
    commit to the disk. Submissions come by the clock, answered or not, and each is counted as
    accepted, refused by name, or without an answer. What was accepted is then looked for in the
    database. Places in the line and waiting times that the API told are compared with what
    happened: `during` were asked in the middle of the rush, `after` a
    while after it.
    """
    plan = Plan(count, seconds, watch, until_judged)
    result = uvloop.run(measure(plan, users, queue, place))
    if as_json:
        print(json.dumps(result))
    else:
        Console().print(as_table(result))


@dataclass(frozen=True, slots=True)
class Plan:
    count: int
    seconds: float
    watch_s: float
    until_judged: bool


async def measure(plan: Plan, users: int, queue: Queue, place: Path | None) -> dict[str, Any]:
    async with (
        open_stage(place, users) as stage,
        open_service(stage, queue) as address,
        httpx.AsyncClient(
            base_url=address.url, headers={"Authorization": f"Bearer {stage.admin}"}
        ) as client,
        Driver.open() as driver,
    ):
        rush = Rush(stage, address, driver, plan, client)
        await rush.warm_up()
        result = await rush.run()
    return {
        **result,
        "queue": queue.value,
        "users": users,
        "machine": describe_machine(),
    }


@asynccontextmanager
async def open_service(stage: Stage, queue: Queue) -> AsyncIterator[Address]:
    """All roles, running and ready."""
    address = free_address()
    given: dict[str, object] = {"host": address.host, "port": address.port}
    async with AsyncExitStack() as stack:
        if queue is Queue.REDIS:
            given["queue_url"] = await stack.enter_async_context(run_redis(stage.place))
        environment = stage.environment(**given)
        processes = [
            await stack.enter_async_context(running(role(name), environment, stage.log(name)))
            for name in ROLES
        ]
        await until_answered(address, "/readyz", processes[0], stage.log("api"))
        yield address


class Rush:
    def __init__(
        self,
        stage: Stage,
        address: Address,
        driver: Driver,
        plan: Plan,
        client: httpx.AsyncClient,
    ) -> None:
        self._stage = stage
        self._address = address
        self._driver = driver
        self._plan = plan
        self._during = Estimates(client, stage.pool)
        self._after = Estimates(client, stage.pool)
        self._deepest = 0
        self._newest = 0
        self._judged = 0

    async def warm_up(self) -> None:
        await self._driver.carry_out(self._order(first=0, count=WARM, seconds=1))
        await self._until_idle()
        async with connection(self._stage.pool) as acquired:
            self._newest = await pulse.newest(acquired)
        self._judged = 0

    async def run(self) -> dict[str, Any]:
        plan = self._plan
        now = asyncio.get_running_loop().time
        began = now()
        async with asyncio.TaskGroup() as group:
            looking = group.create_task(self._look_on(plan.seconds / 2))
            order = self._order(first=WARM, count=plan.count, seconds=plan.seconds)
            tale = await self._driver.carry_out(order)
            looking.cancel()
        judged_meanwhile, took_s = self._judged, now() - began
        await self._watch(judged_meanwhile / took_s)
        watched_s = now() - began
        return {
            "count": plan.count,
            "seconds": plan.seconds,
            "accept": figures(tale),
            "refused": dict(tale.refused),
            "errors": dict(tale.errors),
            **await self._count(tale),
            "deepest": self._deepest,
            "judged_per_s": round(self._judged / watched_s, 1),
            "during": await self._during.compare(),
            "after": await self._after.compare(),
        }

    async def _look_on(self, middle_s: float) -> None:
        now = asyncio.get_running_loop().time
        began = now()
        asked = False
        while True:
            await self._look()
            passed_s = now() - began
            if not asked and passed_s >= middle_s:
                asked = True
                rate = self._judged / passed_s
                left_s = self._plan.seconds - passed_s + self._plan.watch_s
                await self._during.ask(self._reach(rate, left_s))
            await asyncio.sleep(LOOK_S)

    async def _watch(self, rate: float) -> None:
        now = asyncio.get_running_loop().time
        began, watch_s = now(), self._plan.watch_s
        settled_s = min(SETTLED_S, watch_s / 4)
        asked = False
        while await self._look():
            passed_s = now() - began
            if not asked and passed_s >= settled_s:
                asked = True
                await self._after.ask(self._reach(rate, watch_s - passed_s))
            if passed_s > watch_s:
                break
            await asyncio.sleep(LOOK_S)
        if self._plan.until_judged:
            await self._until_idle()

    def _reach(self, rate: float, left_s: float) -> int:
        """So far into the line will be judged while we look, with some to spare."""
        return self._plan.count if self._plan.until_judged else max(1, int(0.8 * rate * left_s))

    async def _look(self) -> bool:
        """Whether anything waits or runs."""
        async with connection(self._stage.pool) as acquired:
            found = await pulse.take(acquired, after=self._newest)
        self._newest = found.newest
        self._judged += found.judged
        self._deepest = max(self._deepest, found.waiting)
        return bool(found.waiting or found.running)

    async def _until_idle(self) -> None:
        now = asyncio.get_running_loop().time
        judged, since = self._judged, now()
        while await self._look():
            if self._judged > judged:
                judged, since = self._judged, now()
            if now() - since > STUCK_S:
                raise Unavailable(f"Nothing was judged for {STUCK_S:g} s: see the logs.")
            await asyncio.sleep(LOOK_S)

    def _order(self, *, first: int, count: int, seconds: float) -> Order:
        return Order(
            host=self._address.near,
            port=self._address.port,
            tokens=self._stage.tokens,
            body=body(),
            first=first,
            seconds=seconds,
            connections=CONNECTIONS,
            count=count,
        )

    async def _count(self, tale: Tale) -> dict[str, int]:
        async with connection(self._stage.pool) as acquired:
            found = await census.count(acquired, tale.ids)
        accepted = len(tale.ids)
        ended = found.judged + found.unjudged
        lost = accepted - min(found.rows, found.events, found.jobs, found.sources)
        if self._plan.until_judged:
            lost += accepted - ended
        return {
            "accepted": accepted,
            "lost": lost,
            "judged": found.judged,
            "failed": found.unjudged,
            "ended_twice": found.ends - ended,
        }


def figures(tale: Tale) -> dict[str, float]:
    ordered = sorted(tale.latencies_ms) or [0.0]
    return {
        "per_s": round(tale.per_s, 1),
        "p50_ms": round(ordered[len(ordered) // 2], 2),
        "p99_ms": round(ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))], 2),
        "worst_ms": round(ordered[-1], 2),
        "sent_late_ms": tale.late_ms,
    }


def as_table(result: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    accept = result["accept"]
    refused = ", ".join(f"{count:,} × {why}" for why, count in result["refused"].items())
    errors = ", ".join(f"{count:,} × {why}" for why, count in result["errors"].items())
    rows = {
        "sent": f"{result['count']:,} in {result['seconds']:g} s by {result['users']:,} users",
        "accepted": f"{result['accepted']:,}",
        "refused": refused or "0",
        "without an answer": errors or "0",
        "lost": str(result["lost"]),
        "accept": f"p50 {accept['p50_ms']:g} ms, p99 {accept['p99_ms']:g} ms",
        "deepest queue": f"{result['deepest']:,}",
        "judged": f"{result['judged']:,}, {result['judged_per_s']:g} a second",
    }
    for when in ("during", "after"):
        said = result[when]
        if said["samples"]:
            rows[f"estimates {when}"] = (
                f"{said['samples']} samples, wrong by {said['wait']['median_error']:.0%} "
                f"in the median, {said['wait']['worst_error']:.0%} at worst; "
                f"positions {said['position']['median_error']:.0%}, "
                f"{said['position']['worst_error']:.0%}"
            )
    for name, value in rows.items():
        table.add_row(name, value)
    return table
