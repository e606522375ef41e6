"""Creates precompiled headers in the background, so that no submission waits for them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import structlog

from deemster.background_task import background_task
from deemster.domain.errors import DeemsterError
from deemster.programs.build.cached_compiler import BuildTools
from deemster.sandbox.cores import unreserved_cores
from deemster.settings import Settings
from deemster.wiring.judging import find_usable, open_boxes

CHECK_S: Final = 60.0
"""Pause between two checks: a toolchain that was upgraded needs a new header."""

log = structlog.get_logger()


@asynccontextmanager
async def precompiling(
    settings: Settings, build_tools: BuildTools, core_locks: Path
) -> AsyncIterator[None]:
    """Creates missing headers while the block runs."""
    async with background_task(keep_precompiled(settings, build_tools, core_locks)):
        yield


async def keep_precompiled(
    settings: Settings, build_tools: BuildTools, core_locks: Path
) -> None:
    while True:
        try:
            await precompile(settings, build_tools, core_locks)
        except DeemsterError as fault:
            log.warning("worker.not_precompiled", error=str(fault))
        except Exception:  # programs compile without headers, too
            log.exception("worker.precompiling_crashed")
        await asyncio.sleep(CHECK_S)


async def precompile(settings: Settings, build_tools: BuildTools, core_locks: Path) -> None:
    """Uses boxes of its own with low priority, so that no judging slot is occupied."""
    toolchains = await find_usable(build_tools.toolchains, build_tools.catalogue)
    for toolchain in await build_tools.compiler.unprepared(toolchains):
        # Without a free core, the kernel chooses.
        free = sorted(await asyncio.to_thread(unreserved_cores, core_locks))
        async with open_boxes(
            settings, [toolchain], cpus=free[-1:], low_priority=True
        ) as boxes:
            await build_tools.compiler.prepare(boxes, [toolchain])
        log.info("worker.precompiled", language=toolchain.language.id)
