"""Finds the analysers of this machine."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from deemster.domain.analysis import Analyzer
from deemster.domain.language import Catalogue
from deemster.programs.build.installed_tool import InstalledTool, find_installed
from deemster.programs.build.languages import load_catalogue
from deemster.programs.build.tool_views import DEFAULT_BOX, VersionBox


@dataclass(frozen=True, slots=True)
class InstalledAnalyzer(InstalledTool):
    analyzer: Analyzer


@dataclass(frozen=True, slots=True)
class MissingAnalyzer:
    analyzer: Analyzer
    reason: str


async def find_analyzers(
    analyzers: Iterable[Analyzer], version_box: VersionBox = DEFAULT_BOX
) -> list[InstalledAnalyzer | MissingAnalyzer]:
    catalogue = load_catalogue()
    async with asyncio.TaskGroup() as group:
        searches = [
            group.create_task(find_analyzer(each, catalogue, version_box)) for each in analyzers
        ]
    return [search.result() for search in searches]


async def find_analyzer(
    analyzer: Analyzer, catalogue: Catalogue, version_box: VersionBox
) -> InstalledAnalyzer | MissingAnalyzer:
    found = await find_installed(analyzer, catalogue, version_box)
    if isinstance(found, str):
        return MissingAnalyzer(analyzer, found)
    return InstalledAnalyzer(found.found, found.view, analyzer)
