"""Creates precompiled headers in the background, so that no submission waits for them."""

import asyncio
import os
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Final

import structlog

from deemster.domain.errors import DeemsterError
from deemster.programs.build.compiler import BuildTools
from deemster.programs.build.toolchain import Toolchain
from deemster.settings import Settings
from deemster.wiring.judging import open_boxes

CHECK_S: Final = 60.0
"""Pause between two checks: a toolchain that was upgraded needs a new header."""

log = structlog.get_logger()


@asynccontextmanager
async def precompiling(
    settings: Settings, build_tools: BuildTools, *, judging_cores: Collection[int]
) -> AsyncIterator[None]:
    """Creates missing headers while the block runs."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(keep_precompiled(settings, build_tools, judging_cores))
        try:
            yield
        finally:
            task.cancel()


async def keep_precompiled(
    settings: Settings, build_tools: BuildTools, judging_cores: Collection[int]
) -> None:
    while True:
        try:
            await precompile(settings, build_tools, judging_cores)
        except DeemsterError as fault:
            log.warning("worker.not_precompiled", error=str(fault))
        except Exception:  # programs compile without headers, too
            log.exception("worker.precompiling_crashed")
        await asyncio.sleep(CHECK_S)


async def precompile(
    settings: Settings, build_tools: BuildTools, judging_cores: Collection[int]
) -> None:
    """Uses boxes of its own with low priority, so that no judging slot is occupied."""
    found = await build_tools.toolchains.find_all(build_tools.catalogue)
    toolchains = [each for each in found if isinstance(each, Toolchain)]
    for toolchain in await build_tools.compiler.unprepared(toolchains):
        async with open_boxes(
            settings, [toolchain], cpus=free_core(judging_cores), low_priority=True
        ) as boxes:
            await build_tools.compiler.prepare(boxes, [toolchain])
        log.info("worker.precompiled", language=toolchain.language.id)


def free_core(judging_cores: Collection[int]) -> tuple[int, ...]:
    """Returns a core on which this worker judges nothing; none if it judges on all."""
    free = os.sched_getaffinity(0).difference(judging_cores)
    return (max(free),) if free else ()
