"""Keeps the boxes of executions and analysers off the cores on which workers judge (E9)."""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import structlog

from deemster.background_task import background_task
from deemster.programs.build.toolchain import Toolchain
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.cores import unreserved_cores
from deemster.sandbox.runner import SandboxFault
from deemster.settings import Settings
from deemster.wiring.judging import open_boxes

CHECK_S: Final = 1.0
"""Pause between two looks which cores are free. A worker that starts needs longer until it
judges."""

log = structlog.get_logger()


@asynccontextmanager
async def open_execution_boxes(
    settings: Settings,
    toolchains: Sequence[Toolchain],
    core_locks: Path,
    judging_cores: Collection[int],
) -> AsyncIterator[Boxes]:
    """If all cores judge, executions get only the CPU time that judging leaves."""
    cores = choose_cores(core_locks, judging_cores)
    shared = not cores.isdisjoint(judging_cores)
    if shared:
        log.warning("worker.executions_share_judging_cores", cores=sorted(cores))
    async with (
        open_boxes(
            settings,
            toolchains,
            slots=settings.execution_slots,
            cpus=sorted(cores),
            share_cpus=True,
            low_priority=shared,
        ) as boxes,
        kept_off(boxes, cores, core_locks, judging_cores),
    ):
        yield boxes


@asynccontextmanager
async def kept_off(
    boxes: Boxes, opened_on: frozenset[int], core_locks: Path, judging_cores: Collection[int]
) -> AsyncIterator[None]:
    """Keeps the boxes on cores on which no worker judges, as `choose_cores` finds them."""
    async with background_task(keep_off(boxes, opened_on, core_locks, judging_cores)):
        yield


def choose_cores(core_locks: Path, judging_cores: Collection[int]) -> frozenset[int]:
    """Returns the cores that no worker judges on, or else those of this worker."""
    return unreserved_cores(core_locks) or frozenset(judging_cores)


async def keep_off(
    boxes: Boxes, opened_on: frozenset[int], core_locks: Path, judging_cores: Collection[int]
) -> None:
    """Moves the boxes when another worker starts to judge on their cores, or ends."""
    present = opened_on
    while True:
        await asyncio.sleep(CHECK_S)
        try:
            cores = await asyncio.to_thread(choose_cores, core_locks, judging_cores)
            # Each time, because a move misses a box that is being made at that moment.
            await asyncio.to_thread(boxes.move_to, cores)
        except (OSError, SandboxFault) as fault:  # such as a runner that is being restarted
            log.warning("worker.executions_not_moved", error=str(fault))
            continue
        if cores != present:
            log.info("worker.boxes_moved", cores=sorted(cores))
        present = cores
