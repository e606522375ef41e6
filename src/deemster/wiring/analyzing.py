"""Opens boxes and a cache for the analysers of this machine."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Self

import structlog

from deemster.background_task import background_task
from deemster.directory_store import sweep
from deemster.domain.analysis import Analysis, Analyzer
from deemster.domain.errors import DeemsterError, Unavailable
from deemster.domain.language import Language
from deemster.domain.limits import MIB
from deemster.domain.source import Source
from deemster.pipeline.analyze.analysis import AnalysisTools, analyze
from deemster.pipeline.analyze.analyzers import load_analyzers
from deemster.pipeline.analyze.installed import find_analyzers
from deemster.pipeline.analyze.results_cache import ResultsCache
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import STANDARD_PROFILES
from deemster.settings import Settings
from deemster.wiring.execution_boxes import choose_cores, kept_off
from deemster.wiring.judging import extended, version_box
from deemster.wiring.layers import layers_of
from deemster.wiring.warming_up import warming_up

log = structlog.get_logger()

OpenedAnalysis = tuple[Boxes, AnalysisTools]
OpenAnalysis = Callable[[], AbstractAsyncContextManager[OpenedAnalysis]]


@asynccontextmanager
async def open_analysis(
    settings: Settings,
    analyzers: Iterable[Analyzer],
    *,
    slots: int = 1,
    cpus: Collection[int] = (),
    low_priority: bool = False,
) -> AsyncIterator[OpenedAnalysis]:
    """Boxes that mount the files of the analysers that are installed, and no other tools."""
    found = await find_analyzers(analyzers, version_box(settings))
    cache = ResultsCache(settings.data_dir / "analyses", settings.analysis_cache_mb * MIB)
    await asyncio.to_thread(cache.open)
    await asyncio.to_thread(sweep, settings.work_dir)
    tools = AnalysisTools(found, cache, settings.work_dir)
    permissions = [each.analyzer.permissions for each in tools.installed]
    async with Boxes.open(
        slots=slots,
        layers=layers_of(settings),
        profiles=STANDARD_PROFILES
        + tuple(extended(each) for each in permissions if each.profile != each.base),
        views=tools.views,
        runner=settings.runner,
        read_mib_per_s=settings.sandbox_read_mb_per_s,
        cpus=sorted(cpus),
        share_cpus=bool(cpus),
        low_priority=low_priority,
    ) as boxes:
        yield boxes, tools


@asynccontextmanager
async def open_worker_analysis(
    settings: Settings, slots: int, core_locks: Path, judging_cores: Collection[int]
) -> AsyncIterator[OpenedAnalysis]:
    """Opens boxes of low priority, if possible on cores on which no worker judges."""
    cores = choose_cores(core_locks, judging_cores)
    async with (
        open_analysis(
            settings,
            load_analyzers(),
            slots=slots,
            cpus=cores,
            low_priority=settings.analysis_yields,
        ) as opened,
        kept_off(opened[0], cores, core_locks, judging_cores),
        warming_up(settings, opened[1].views),
    ):
        yield opened


class AnalysisOnDemand:
    """Opens boxes and looks for tools when the first program comes: many workers get none."""

    def __init__(self, open_analysis: OpenAnalysis) -> None:
        self._open = open_analysis
        self._wanted = asyncio.Event()
        self._opened: asyncio.Future[OpenedAnalysis] = new_future()

    @classmethod
    @asynccontextmanager
    async def open(cls, open_analysis: OpenAnalysis) -> AsyncIterator[Self]:
        analysis = cls(open_analysis)
        async with background_task(analysis._serve()):
            yield analysis

    async def analyze(self, language: Language, source: Source) -> Analysis:
        self._wanted.set()
        boxes, tools = await asyncio.shield(self._opened)
        return await analyze(boxes, tools, language, source)

    async def _serve(self) -> None:
        """A fault of the analysers ends no worker: the next program opens them again."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            opened = self._opened
            try:
                async with self._open() as found:
                    opened.set_result(found)
                    await asyncio.get_running_loop().create_future()
            except (DeemsterError, OSError) as fault:
                log.warning("analysis.not_opened", error=str(fault))
                self._opened = new_future()
                if not opened.done():
                    opened.set_exception(Unavailable(f"The analysers can't be used: {fault}"))


def new_future() -> asyncio.Future[OpenedAnalysis]:
    return asyncio.get_running_loop().create_future()
