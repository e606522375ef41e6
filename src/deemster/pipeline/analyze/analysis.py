"""Analyses a program with all analysers of its language: the function that a stage calls."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from deemster.domain.analysis import Analysis, ToolResult, ToolStatus
from deemster.domain.analysis_score import compute_scores
from deemster.domain.language import Language, extension_of
from deemster.domain.source import Source
from deemster.pipeline.analyze.installed import InstalledAnalyzer, MissingAnalyzer
from deemster.pipeline.analyze.results_cache import ResultsCache
from deemster.pipeline.analyze.tool_run import make_request, run_tool
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import FilesView


@dataclass(frozen=True, slots=True)
class AnalysisTools:
    """The analysers of this machine, installed or missing, and the cache of their results."""

    analyzers: Sequence[InstalledAnalyzer | MissingAnalyzer]
    cache: ResultsCache
    work_dir: Path

    @property
    def installed(self) -> list[InstalledAnalyzer]:
        return [each for each in self.analyzers if isinstance(each, InstalledAnalyzer)]

    @property
    def views(self) -> list[FilesView]:
        """What the boxes must show."""
        return [each.view for each in self.installed]

    def for_language(self, language: Language) -> list[InstalledAnalyzer | MissingAnalyzer]:
        return [each for each in self.analyzers if language.id in each.analyzer.languages]


async def analyze(
    boxes: Boxes, tools: AnalysisTools, language: Language, source: Source
) -> Analysis:
    """Runs the analysers of the language, as many at once as there are boxes.

    A tool that is missing or fails is part of the result. Raises Unavailable if the sandbox
    itself fails. The boxes must have been opened for these analysers.
    """
    try:
        async with asyncio.TaskGroup() as group:
            running = [
                group.create_task(analyze_with(boxes, tools, each, language, source))
                for each in tools.for_language(language)
            ]
    except BaseExceptionGroup as faults:
        raise faults.exceptions[0] from None
    results = tuple(each.result() for each in running)
    files = own_files(language, source, results)
    return Analysis(language.id, files, results, compute_scores(results, files))


def own_files(
    language: Language, source: Source, results: Iterable[ToolResult]
) -> dict[str, bytes]:
    """The sources and headers that the problem did not add."""
    headers = frozenset[str]().union(*(result.analyzer.also_reads for result in results))
    return {
        name: content
        for name, content in sorted(source.files.items())
        if name not in source.included
        and (language.is_source(name) or extension_of(name) in headers)
    }


async def analyze_with(
    boxes: Boxes,
    tools: AnalysisTools,
    each: InstalledAnalyzer | MissingAnalyzer,
    language: Language,
    source: Source,
) -> ToolResult:
    analyzer = each.analyzer
    if isinstance(each, MissingAnalyzer):
        remark = f"{each.reason}: install it with `{analyzer.installation}`."
        return ToolResult(analyzer, ToolStatus.MISSING, remarks=(remark,))
    if not each.found.is_unchanged:
        # The boxes have mounted the old files, and the version is that of the old ones.
        remark = f"{analyzer.name} has changed since Deemster started: restart Deemster."
        return ToolResult(analyzer, ToolStatus.MISSING, remarks=(remark,))
    request = make_request(each, language, source)
    if request is None:
        remark = f"None of the files is {language.name} source."
        return ToolResult(analyzer, ToolStatus.FAILED, each.version, remarks=(remark,))
    known = await asyncio.to_thread(tools.cache.get, request)
    if known is not None:
        return known
    result = await run_tool(boxes, request, tools.work_dir)
    await asyncio.to_thread(tools.cache.put, request, result)
    return result
