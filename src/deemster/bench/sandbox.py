"""Measures what a sandboxed run costs over a bare one, next to other sandboxes."""

import os
from collections.abc import Sequence
from typing import Any, Final

from deemster.bench.machine import describe_machine
from deemster.bench.other_sandboxes import PROGRAM, Peers, open_peers
from deemster.bench.runs import (
    BareRun,
    SandboxRun,
    TimedRun,
    garbage_collector_off,
    measure_parallel,
    take_turns,
)
from deemster.pipeline.judge.verify.progress import Progress
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Command
from deemster.settings import load_settings
from deemster.wiring.judging import open_boxes

IDLE_S: Final = 0.030
TURN: Final = 20
"""Runs of one kind in a row, before the next kind."""
PARALLEL_ROUNDS: Final = 9
"""Most rounds of the parallel measurement; a short benchmark has fewer."""
KINDS: Final = ("bare", "sandbox", "api", "bare_idle", "sandbox_idle")


async def measure(runs: int, progress: Progress) -> dict[str, Any]:
    with open_peers() as peers:
        cpus = sorted(os.sched_getaffinity(0))  # one slot per core, as in a worker
        async with open_boxes(load_settings(), slots=2, cpus=cpus) as boxes:
            async with boxes.raw_slot() as slot:
                timed = timed_runs(boxes, SandboxRun(boxes, slot.channel), peers)
                with garbage_collector_off():
                    await take_turns(timed, runs, TURN, progress)
            rounds = min(PARALLEL_ROUNDS, -(-runs // TURN))
            parallel = await measure_parallel(boxes, cpus, rounds)
        figures = compare(timed)
        return {
            **{name: figures[name] for name in KINDS},
            "parallel": parallel,
            "peers": {name: figures[name] for name in peers.argv},
            "skipped": dict(peers.skipped),
            "machine": describe_machine(),
        }


def timed_runs(boxes: Boxes, sandbox: SandboxRun, peers: Peers) -> list[TimedRun]:
    bare = BareRun((PROGRAM,))
    command = Command((PROGRAM,))
    return [
        TimedRun("bare", bare),
        TimedRun("sandbox", sandbox),
        TimedRun("api", lambda: boxes.run(command)),
        TimedRun("bare_idle", bare, idle_s=IDLE_S),
        TimedRun("sandbox_idle", sandbox, over="bare_idle", idle_s=IDLE_S),
        *(TimedRun(name, BareRun(argv)) for name, argv in peers.argv.items()),
    ]


def compare(timed: Sequence[TimedRun]) -> dict[str, dict[str, float]]:
    """All figures by name, each with its ratio to the bare run in the same situation."""
    figures = {each.name: each.figures() for each in timed}
    sandbox_ms = figures["sandbox"]["median_ms"]
    for each in timed:
        own = figures[each.name]
        if not each.name.startswith("bare"):
            own["ratio"] = round(own["median_ms"] / figures[each.over]["median_ms"], 3)
        if each.name not in KINDS:
            own["sandbox_faster"] = round(own["median_ms"] / sandbox_ms, 2)
    return figures
