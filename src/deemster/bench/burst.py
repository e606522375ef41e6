"""`deemster bench burst`: many submissions in a minute, with everything running."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import httpx
import typer
from rich.console import Console
from rich.table import Table

from deemster.bench.load.driver import Driver
from deemster.bench.load.ending import run
from deemster.bench.load.redis_server import run_redis
from deemster.bench.load.rush import Plan, Rush
from deemster.bench.load.servers import free_address, role, running, until_answered
from deemster.bench.load.stage import BenchService, open_stage
from deemster.bench.sandbox import describe_machine
from deemster.wiring.address import Address

ROLES: Final = ("api", "relay", "worker", "keeper")


class Queue(StrEnum):
    POSTGRES = "postgres"
    REDIS = "redis"


def burst(  # noqa: PLR0913, PLR0917 - they are options
    count: Annotated[int, typer.Option(help="How many submissions.", min=1)] = 10_000,
    seconds: Annotated[
        float, typer.Option(help="In what time they come, evenly.", min=0.1)
    ] = 60.0,
    users: Annotated[
        int | None,
        typer.Option(
            help="How many accounts send them; one each unless told.",
            min=1,
            show_default=False,
        ),
    ] = None,
    hog: Annotated[
        int, typer.Option(help="Submissions of one user more, waiting before.", min=0)
    ] = 1000,
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
    while after it. `fairness` is the share of all starts that went to others
    than the one who had many waiting, while a submission of others waited.
    """
    plan = Plan(count, seconds, watch, until_judged, hog)
    result = run(measure(plan, users or count, queue, place))
    if as_json:
        print(json.dumps(result))
    else:
        Console().print(as_table(result))


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
async def open_service(stage: BenchService, queue: Queue) -> AsyncIterator[Address]:
    """All roles, running and ready."""
    address = free_address()
    given: dict[str, object] = {
        "host": address.host,
        "port": address.port,
        # All come from here, as from a school behind one address.
        "submits_per_minute_ip": 1_000_000,
        "submits_per_minute_problem": 1_000_000,
    }
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


def as_table(result: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    accept = result["accept"]
    refused = ", ".join(f"{count:,} of {why}" for why, count in result["refused"].items())
    errors = ", ".join(f"{count:,} of {why}" for why, count in result["errors"].items())
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
    if fair := result["fairness"]:
        rows["fairness"] = (
            f"{fair['share']:.1%} of {fair['starts']:,} starts went to others while they "
            f"waited, {fair['of_hog']:,} to the one with {fair['queued']:,}; in the order of "
            f"arrival {fair['by_arrival']:.1%}"
            if fair["starts"]
            else "nobody had to wait"
        )
    for name, value in rows.items():
        table.add_row(name, value)
    return table
