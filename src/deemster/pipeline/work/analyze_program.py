"""Analyses one program as it is judged, for local workers and for judge hosts."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from deemster.domain.analysis import Analysis
from deemster.domain.language import Catalogue, Language
from deemster.domain.source import Source
from deemster.domain.stored_analysis import AnalysisRecord, compress
from deemster.pipeline.analyze.sarif_writer import sarif_log, to_json
from deemster.pipeline.judge.sources import contestant_source
from deemster.problems.revision import OpenRevision

Analyze = Callable[[Language, Source], Awaitable[Analysis]]


@dataclass(frozen=True, slots=True)
class ProgramAnalyzer:
    catalogue: Catalogue
    open_revision: OpenRevision
    analyze: Analyze

    async def analyze_program(
        self, language: str, source: Source, revision: str | None
    ) -> AnalysisRecord:
        """A revision may add files to the program."""
        named = self.catalogue.named(language)
        if revision is not None:
            async with self.open_revision(revision) as opened:
                source = await asyncio.to_thread(
                    contestant_source,
                    opened.directory,
                    opened.problem,
                    named,
                    source,
                    self.catalogue,
                )
        analysis = await self.analyze(named, source)
        return await asyncio.to_thread(make_record, analysis)


def make_record(analysis: Analysis) -> AnalysisRecord:
    return AnalysisRecord(
        sarif=compress(to_json(sarif_log(analysis))),
        scores={str(category): score for category, score in analysis.scores.items()},
        tools={each.analyzer.name: each.version or None for each in analysis.results},
        findings=sum(len(each.findings) for each in analysis.results),
    )
