"""`deemster bench accept`: what taking a submission in costs beyond a bare insert."""

import json
import statistics
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

from deemster.bench.load import bare, echo
from deemster.bench.load.driver import Driver
from deemster.bench.load.ending import run
from deemster.bench.load.order import LoadOrder, LoadResult
from deemster.bench.load.servers import free_address, module, role, running, until_answered
from deemster.bench.load.stage import BenchService, body, open_stage
from deemster.bench.sandbox import describe_machine, progress_bar
from deemster.domain.errors import Unavailable
from deemster.store import consistency
from deemster.store.pool import connection
from deemster.wiring.address import Address

USERS: Final = 3000
AT_ONCE: Final = 150
"""Users of one turn; the next has others, or each would soon have a thousand waiting."""
CONTENDERS: Final = 3
WARM_S: Final = 1.0


@dataclass(slots=True)
class Contender:
    title: str
    address: Address
    with_keys: bool = False
    tales: list[LoadResult] = field(default_factory=list)


def accept(
    rounds: Annotated[
        int, typer.Option(help="Times that everything is measured.", min=1, max=100)
    ] = 15,
    seconds: Annotated[
        float, typer.Option(help="How long each turn lasts.", min=0.1, max=60)
    ] = 1.0,
    connections: Annotated[
        int, typer.Option(help="Clients that send at once.", min=1, max=1000)
    ] = 32,
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
    """Measure how many submissions one API process takes in, and how many a bare insert would.

    The bare limit is FastAPI and asyncpg with the same server, pool and load, which writes the
    same source as one row and nothing else. Both write to the same private Postgres, which
    syncs every commit to the disk, and take turns. `ratio` is the median of all rounds.
    """
    result = run(measure(rounds, seconds, connections, place))
    if as_json:
        print(json.dumps(result))
    else:
        Console().print(as_table(result))


async def measure(
    rounds: int, seconds: float, connections: int, place: Path | None
) -> dict[str, Any]:
    users = min(USERS, (1 + CONTENDERS * (1 + rounds)) * AT_ONCE)
    async with open_stage(place, users) as stage, contend(stage) as (contenders, echoing):
        async with Driver.open() as driver:
            press = Press(driver, stage, seconds, connections)
            alone = await press.turn(Contender("generator", echoing), min(WARM_S, seconds))
            await press.take_turns(list(contenders.values()), rounds)
        kept = await check_kept(stage, contenders)
    figures = {name: figures_of(each) for name, each in contenders.items()}
    for name in ("accept", "with_keys"):
        figures[name]["ratio"] = ratio(contenders[name], contenders["bare"])
    return {
        **figures,
        "kept": kept,
        "generator_per_s": round(alone.per_s),
        "connections": connections,
        "machine": describe_machine(),
    }


@asynccontextmanager
async def contend(stage: BenchService) -> AsyncIterator[tuple[dict[str, Contender], Address]]:
    """All servers, running; and one that only answers, for the generator itself."""
    async with AsyncExitStack() as stack:

        async def begin(name: str, argv: list[str]) -> Address:
            address = free_address()
            log = stage.log(name)
            environment = stage.environment(host=address.host, port=address.port, **WIDE)
            process = await stack.enter_async_context(running(argv, environment, log))
            await until_answered(address, "/healthz", process, log)
            return address

        api = await begin("api", role("api"))
        contenders = {
            "bare": Contender("bare insert", await begin("bare", module(bare.__name__))),
            "accept": Contender("accept", api),
            "with_keys": Contender("accept, with keys", api, with_keys=True),
        }
        yield contenders, await begin("echo", module(echo.__name__))


WIDE: Final = {
    "submit_interval_s": 0.001,
    "daily_quota": 1_000_000_000,
    "submits_per_minute_user": 1_000_000_000,
    "submits_per_minute_ip": 1_000_000_000,
    "submits_per_minute_problem": 1_000_000_000,
    "requests_per_second_user": 1_000_000,
    "queue_high": 1_000_000_000,
}
"""Limits that nobody reaches, but that are counted all the same."""


@dataclass(slots=True)
class Press:
    driver: Driver
    stage: BenchService
    seconds: float
    connections: int
    sent: int = 0
    turns: int = 0

    async def take_turns(self, contenders: list[Contender], rounds: int) -> None:
        for contender in contenders:
            contender.tales.append(await self.turn(contender, min(WARM_S, self.seconds)))
        with progress_bar() as progress:
            task = progress.add_task("Measuring", total=rounds * len(contenders))
            for number in range(rounds):
                # Every other time from the other end: who follows whom must not matter.
                for contender in contenders if number % 2 else reversed(contenders):
                    progress.update(task, description=contender.title, refresh=True)
                    contender.tales.append(await self.turn(contender, self.seconds))
                    progress.advance(task)

    async def turn(self, contender: Contender, seconds: float) -> LoadResult:
        begin = self.turns * AT_ONCE % len(self.stage.tokens)
        self.turns += 1
        order = LoadOrder(
            host=contender.address.local_host,
            port=contender.address.port,
            tokens=self.stage.tokens[begin : begin + AT_ONCE],
            body=body(),
            first=self.sent,
            seconds=seconds,
            connections=self.connections,
            with_keys=contender.with_keys,
        )
        tale = await self.driver.carry_out(order)
        self.sent += len(tale.ids)
        if tale.refused or tale.errors:
            told = {**tale.refused, **tale.errors}
            raise Unavailable(f"{contender.title}: not all were accepted, but {told}.")
        return tale


async def check_kept(stage: BenchService, contenders: dict[str, Contender]) -> dict[str, Any]:
    """That all who were told so are there, with their event, job and source."""
    kept: dict[str, Any] = {}
    async with connection(stage.pool) as acquired:
        for name in ("accept", "with_keys"):
            ids = [own for tale in contenders[name].tales for own in tale.ids]
            found = await consistency.count_rows(acquired, ids)
            whole = min(found.rows, found.events, found.jobs, found.sources)
            kept[name] = {"accepted": len(ids), "lost": len(ids) - whole}
        ids = [own for tale in contenders["bare"].tales for own in tale.ids]
        rows = await acquired.fetchval(bare.COUNT, ids)
        kept["bare"] = {"accepted": len(ids), "lost": len(ids) - rows}
    return kept


def figures_of(contender: Contender) -> dict[str, float]:
    """The first turn was for warming up."""
    tales = contender.tales[1:]
    return {
        "per_s": round(statistics.median(tale.per_s for tale in tales), 1),
        "p50_ms": round(statistics.median(tale.quantile_ms(0.5) for tale in tales), 2),
        "p99_ms": round(statistics.median(tale.quantile_ms(0.99) for tale in tales), 2),
    }


def ratio(contender: Contender, over: Contender) -> float:
    pairs = zip(contender.tales[1:], over.tales[1:], strict=True)
    return round(statistics.median(own.per_s / bare.per_s for own, bare in pairs), 3)


def as_table(result: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", caption_justify="left")
    table.add_column("one API process")
    for heading in ("accepted a second", "p50 ms", "p99 ms", "of bare"):
        table.add_column(heading, justify="right")
    titles = {"bare": "bare insert", "accept": "accept", "with_keys": "accept, with keys"}
    for name, title in titles.items():
        row = result[name]
        share = f"{row['ratio']:.2f}" if "ratio" in row else ""
        times = (f"{row['p50_ms']:.1f}", f"{row['p99_ms']:.1f}")
        table.add_row(title, f"{row['per_s']:,.0f}", *times, share)
    lost = sum(each["lost"] for each in result["kept"].values())
    table.caption = (
        f"{lost} lost; the generator alone can do {result['generator_per_s']:,} a second"
    )
    return table
