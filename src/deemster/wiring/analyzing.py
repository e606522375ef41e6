"""Opens boxes and a cache for the analysers of this machine."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Self

from deemster.domain.analysis import Analysis, Analyzer
from deemster.domain.language import Language
from deemster.domain.limits import MIB
from deemster.domain.source import Source
from deemster.pipeline.analyze.analysis import AnalysisTools, analyze
from deemster.pipeline.analyze.analyzers import load_analyzers
from deemster.pipeline.analyze.installed import find_analyzers
from deemster.pipeline.analyze.results_cache import ResultsCache
from deemster.sandbox.boxes import Boxes
from deemster.settings import Settings
from deemster.wiring.execution_boxes import choose_cores, kept_off
from deemster.wiring.judging import open_boxes, version_box
from deemster.wiring.on_demand import OnDemand
from deemster.wiring.warming_up import warming_up

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
    tools = AnalysisTools(found, cache, settings.work_dir)
    async with open_boxes(
        settings,
        permissions=[each.analyzer.permissions for each in tools.installed],
        views=tools.views,
        slots=slots,
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
    """Opens boxes and looks for tools when the first program comes."""

    def __init__(self, opened: OnDemand[OpenedAnalysis]) -> None:
        self._opened = opened

    @classmethod
    @asynccontextmanager
    async def open(cls, open_analysis: OpenAnalysis) -> AsyncIterator[Self]:
        async with OnDemand.open("The analysers", open_analysis) as opened:
            yield cls(opened)

    async def analyze(self, language: Language, source: Source) -> Analysis:
        boxes, tools = await self._opened.get()
        return await analyze(boxes, tools, language, source)
