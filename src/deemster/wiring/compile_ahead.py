"""Assembles the compile slots of a worker or judge host, on cores on which nobody judges."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from deemster.pipeline.work.compile_ahead import CompileAhead
from deemster.programs.build.toolchain import Toolchain
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.cores import unreserved_cores
from deemster.settings import Settings
from deemster.wiring.execution_boxes import kept_off
from deemster.wiring.judging import open_boxes
from deemster.wiring.on_demand import OnDemand


@asynccontextmanager
async def open_compile_ahead(
    settings: Settings,
    toolchains: Sequence[Toolchain],
    core_locks: Path,
    judging_cores: Collection[int],
    *,
    is_busy: Callable[[], bool],
    is_capped: Callable[[str], bool] = lambda _: False,
) -> AsyncIterator[CompileAhead]:
    """Compilers never share a core with a program that is judged: without a free core, programs
    are compiled in their slots.
    """
    open_them = partial(open_compile_boxes, settings, toolchains, core_locks, judging_cores)
    async with OnDemand.open("Compile slots", open_them) as boxes:

        async def find_boxes() -> Boxes | None:
            free = await asyncio.to_thread(unreserved_cores, core_locks)
            return boxes.get_if_open() if free else None

        yield CompileAhead(
            settings.compile_slots, find_boxes, is_busy=is_busy, is_capped=is_capped
        )


@asynccontextmanager
async def open_compile_boxes(
    settings: Settings,
    toolchains: Sequence[Toolchain],
    core_locks: Path,
    judging_cores: Collection[int],
) -> AsyncIterator[Boxes]:
    cores = await asyncio.to_thread(unreserved_cores, core_locks)
    async with (
        open_boxes(
            settings,
            toolchains,
            slots=settings.compile_slots,
            cpus=sorted(cores),
            share_cpus=True,
        ) as boxes,
        kept_off(boxes, cores, core_locks, judging_cores),
    ):
        yield boxes
