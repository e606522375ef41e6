"""Loads the files of tools into memory in the background, after a restart of the machine."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Final

import structlog

from deemster.background_task import background_task
from deemster.domain.limits import MIB
from deemster.programs.build.toolchain import Toolchain
from deemster.sandbox.command import FilesView
from deemster.settings import Settings

MAX_WARM_UP_S: Final = 300

log = structlog.get_logger()


@asynccontextmanager
async def warming_up(settings: Settings, views: Iterable[FilesView]) -> AsyncIterator[None]:
    """Loads what these views show, in their order, while the block runs."""
    paths = paths_of(views)
    if not settings.warm_up_mb or not paths:
        yield
        return
    async with background_task(warm_up(paths, settings.warm_up_mb * MIB)):
        yield


def toolchain_views(toolchains: Iterable[Toolchain]) -> list[FilesView]:
    """Those of programs before those of compilers."""
    found = list(toolchains)
    return [*(each.views.run for each in found), *(each.views.compile for each in found)]


def paths_of(views: Iterable[FilesView]) -> list[str]:
    return list(dict.fromkeys(str(bind.source) for view in views for bind in view.binds))


async def warm_up(paths: Iterable[str], max_bytes: int) -> None:
    """Programs run without it, too: so a failure is only logged."""
    try:
        log.info("worker.warmed_up", bytes=await load_files(paths, max_bytes))
    except (OSError, TimeoutError) as fault:
        log.warning("worker.not_warmed_up", error=str(fault) or "it took too long")


async def load_files(paths: Iterable[str], max_bytes: int) -> int:
    """Returns the number of bytes.

    In a process of its own: a thread of low priority could hold up the whole worker.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-m", "deemster.sandbox.warm_up"),
        *(str(max_bytes), str(MAX_WARM_UP_S)),
        stdin=PIPE,
        stdout=PIPE,
    )
    try:
        async with asyncio.timeout(2 * MAX_WARM_UP_S):
            output, _ = await process.communicate(os.fsencode("\n".join(paths)))
        return int(output or 0)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
