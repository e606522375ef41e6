"""`deemster bench sandbox`: what a caged run costs over a bare one, next to other sandboxes."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import uvloop
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table

from deemster.bench.peers import PROGRAM, Peers, open_peers
from deemster.bench.runs import (
    BareRun,
    CageRun,
    Contender,
    collector_off,
    measure_parallel,
)
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Command
from deemster.settings import load_settings
from deemster.wiring.judging import open_boxes

IDLE_S = 0.030
TURN = 20
"""Runs of one contender in a row before the next has its turn."""

TITLES = {
    "bare": "bare posix_spawn",
    "cage": "the cage",
    "api": "the cage, by the Python API",
    "bare_idle": "bare, after 30 ms idle",
    "cage_idle": "the cage, after 30 ms idle",
}


def sandbox(
    runs: Annotated[
        int, typer.Option(help="Measured runs of each.", min=TURN, max=100_000)
    ] = 240,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure one run of `true`: bare, in the cage, and in each other sandbox found here.

    All take turns in one run of this command, so the ratios hold on any machine; milliseconds
    don't. Idle means after 30 ms of nothing, as a judge between two submissions sees it.
    """
    with open_peers() as peers:
        result = uvloop.run(measure(peers, runs))
    if as_json:
        print(json.dumps(result))
        return
    Console().print(as_table(result))
    for name, reason in peers.skipped.items():
        Console(stderr=True).print(f"{name} is here, but: {reason}", markup=False)


async def measure(peers: Peers, runs: int) -> dict[str, Any]:
    cpus = sorted(os.sched_getaffinity(0))  # a slot a core, as a worker has them
    async with open_boxes(load_settings(), slots=2, cpus=cpus) as boxes:
        async with boxes.raw_slot() as slot:
            contenders = contend(boxes, CageRun(boxes, slot.channel), peers)
            with collector_off():
                await take_turns(contenders, runs)
        parallel = await measure_parallel(boxes, cpus)
    figures = compare(contenders)
    return {
        **{name: figures[name] for name in TITLES},
        "parallel": parallel,
        "peers": {name: figures[name] for name in peers.argv},
        "skipped": dict(peers.skipped),
        "machine": describe_machine(),
    }


def contend(boxes: Boxes, cage: CageRun, peers: Peers) -> list[Contender]:
    bare = BareRun((PROGRAM,))
    command = Command((PROGRAM,))
    return [
        Contender("bare", bare),
        Contender("cage", cage),
        Contender("api", lambda: boxes.run(command)),
        Contender("bare_idle", bare, idle_s=IDLE_S),
        Contender("cage_idle", cage, over="bare_idle", idle_s=IDLE_S),
        *(Contender(name, BareRun(argv)) for name, argv in peers.argv.items()),
    ]


async def take_turns(contenders: Sequence[Contender], runs: int) -> None:
    with progress_bar() as progress:
        task = progress.add_task("Measuring", total=runs * len(contenders))
        for begun in range(0, runs, TURN):
            size = min(TURN, runs - begun)
            for contender in contenders:
                progress.update(task, description=f"Measuring {contender.name}", refresh=True)
                await contender.take_turn(size)
                progress.advance(task, size)


def progress_bar() -> Progress:
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}", table_column=Column(width=22)),
        BarColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        auto_refresh=False,  # its thread would disturb what is measured
        disable=not console.is_terminal,
    )


def compare(contenders: Sequence[Contender]) -> dict[str, dict[str, float]]:
    """All figures by name, each with its ratio over the bare run in the same situation."""
    figures = {each.name: each.figures() for each in contenders}
    cage_ms = figures["cage"]["median_ms"]
    for each in contenders:
        own = figures[each.name]
        if not each.name.startswith("bare"):
            own["ratio"] = round(own["median_ms"] / figures[each.over]["median_ms"], 3)
        if each.name not in TITLES:
            own["cage_faster"] = round(own["median_ms"] / cage_ms, 2)
    return figures


def describe_machine() -> dict[str, Any]:
    cores = len(os.sched_getaffinity(0))
    return {"cores": cores, "kernel": os.uname().release, "cgroup": cgroup_layout()}


def cgroup_layout() -> str:
    root = Path("/sys/fs/cgroup")
    if (root / "cgroup.controllers").exists():
        return "v2"
    return "hybrid" if (root / "unified").exists() else "v1"


def as_table(result: Mapping[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", caption_justify="left")
    table.add_column("one run of true")
    for heading in ("median ms", "p99 ms", "over bare", "cage faster by"):
        table.add_column(heading, justify="right")
    for name, title in TITLES.items():
        table.add_row(title, *cells(result[name]))
    for name, figures in result["peers"].items():
        table.add_row(name, *cells(figures))
    parallel = result["parallel"]
    one, two = parallel["one_per_s"], parallel["two_per_s"]
    table.caption = f"{one:.0f} runs a second with one slot, {two:.0f} with two"
    return table


def cells(figures: Mapping[str, float]) -> list[str]:
    times = [f"{figures['median_ms']:.2f}", f"{figures['p99_ms']:.2f}"]
    return times + [
        f"{figures[key]:.2f}" if key in figures else "" for key in ("ratio", "cage_faster")
    ]
