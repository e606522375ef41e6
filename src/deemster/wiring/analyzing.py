"""Opens boxes and a cache for the analysers of this machine."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from deemster.directory_store import sweep
from deemster.domain.analysis import Analyzer
from deemster.domain.limits import MIB
from deemster.pipeline.analyze.analysis import AnalysisTools
from deemster.pipeline.analyze.installed import InstalledAnalyzer, find_analyzers
from deemster.pipeline.analyze.results_cache import ResultsCache
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import STANDARD_PROFILES
from deemster.settings import Settings
from deemster.wiring.judging import extended, layers_of


@asynccontextmanager
async def open_analysis(
    settings: Settings,
    analyzers: Iterable[Analyzer],
    *,
    slots: int = 1,
    low_priority: bool = False,
) -> AsyncIterator[tuple[Boxes, AnalysisTools]]:
    """Boxes that mount the files of the analysers that are installed, and no other tools."""
    found = await find_analyzers(analyzers)
    cache = ResultsCache(settings.data_dir / "analyses", settings.analysis_cache_mb * MIB)
    await asyncio.to_thread(cache.open)
    await asyncio.to_thread(sweep, settings.work_dir)
    usable = [each for each in found if isinstance(each, InstalledAnalyzer)]
    permissions = [each.analyzer.permissions for each in usable]
    async with Boxes.open(
        slots=slots,
        layers=layers_of(settings),
        profiles=STANDARD_PROFILES
        + tuple(extended(each) for each in permissions if each.profile != each.base),
        binds=tuple({bind.target: bind for each in usable for bind in each.binds}.values()),
        runner=settings.runner,
        low_priority=low_priority,
    ) as boxes:
        yield boxes, AnalysisTools(found, cache, settings.work_dir)
