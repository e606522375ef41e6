"""The stages that analyse programs: after a verdict, or on request for a program that ended."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import ClassVar, Final

from deemster.domain.analysis import Analysis
from deemster.domain.ids import RevisionDigest, WorkId
from deemster.domain.job import Task
from deemster.domain.language import Catalogue, Language
from deemster.domain.source import Source, unpack_files
from deemster.domain.stage import StageDetails
from deemster.domain.stored_analysis import AnalysisRecord, RequestedAnalysis, compress
from deemster.pipeline.analyze.sarif import sarif_log, to_json
from deemster.pipeline.judge.sources import contestant_source
from deemster.pipeline.verdict.attempt import settle_analysis, settle_requested_analysis
from deemster.pipeline.work.timed_stage import SubmissionStage, TimedStage
from deemster.problems.distribution import RevisionDistributor
from deemster.store import analyses
from deemster.store.artifacts import Artifacts
from deemster.store.inline_artifacts import fetch
from deemster.store.pool import Connection, Pool, connection

LIMIT_S: Final = 20.0
"""For all analysers of a program together (Q4)."""

Analyze = Callable[[Language, Source], Awaitable[Analysis]]


@dataclass(frozen=True, slots=True)
class ProgramAnalyzer:
    """Reads programs as they are judged, and analyses them."""

    pool: Pool
    artifacts: Artifacts
    catalogue: Catalogue
    distributor: RevisionDistributor
    analyze: Analyze

    async def analyze_submission(
        self, source: str, main: str | None, language: str, revision: RevisionDigest
    ) -> AnalysisRecord:
        """`source` is the digest of the artifact with the files."""
        async with connection(self.pool) as acquired:
            bundle = await fetch(acquired, self.artifacts, source)
        own = Source(unpack_files(bundle), main=main)
        named = self.catalogue.named(language)
        async with self.distributor.opened(revision) as opened:
            complete = await asyncio.to_thread(
                contestant_source,
                opened.directory,
                opened.problem,
                named,
                own,
                self.catalogue,
            )
        return await self.analyze_source(named, complete)

    async def analyze_source(self, language: Language, source: Source) -> AnalysisRecord:
        analysis = await self.analyze(language, source)
        return await asyncio.to_thread(make_record, analysis)


def make_record(analysis: Analysis) -> AnalysisRecord:
    return AnalysisRecord(
        sarif=compress(to_json(sarif_log(analysis))),
        scores={str(category): score for category, score in analysis.scores.items()},
        tools={each.analyzer.name: each.version or None for each in analysis.results},
        findings=sum(len(each.findings) for each in analysis.results),
    )


@dataclass(frozen=True, slots=True)
class AnalyzeStage(SubmissionStage):
    limit_s: ClassVar[float] = LIMIT_S
    pool: Pool
    programs: ProgramAnalyzer
    task: Task = Task.ANALYZE

    async def run(self, details: StageDetails, on_part: Callable[[], None]) -> AnalysisRecord:
        return await self.programs.analyze_submission(
            details.source, details.main, details.language, details.revision
        )

    async def settle(self, details: StageDetails, result: AnalysisRecord) -> str:
        await settle_analysis(self.pool, details, result)
        return f"{result.findings} findings"


@dataclass(frozen=True, slots=True)
class RequestedAnalysisStage(TimedStage):
    limit_s: ClassVar[float] = LIMIT_S
    pool: Pool
    programs: ProgramAnalyzer
    task: Task = Task.ANALYZE_LATER

    async def read(self, connection: Connection, work: WorkId) -> RequestedAnalysis | None:
        return await analyses.request_details(connection, work)

    async def run(
        self, details: RequestedAnalysis, on_part: Callable[[], None]
    ) -> AnalysisRecord:
        if details.source is not None and details.revision is not None:
            return await self.programs.analyze_submission(
                details.source, details.main, details.language, details.revision
            )
        assert details.files is not None, "an execution has files"
        source = Source(unpack_files(details.files), main=details.main)
        language = self.programs.catalogue.named(details.language)
        return await self.programs.analyze_source(language, source)

    async def settle(self, details: RequestedAnalysis, result: AnalysisRecord) -> str:
        await settle_requested_analysis(self.pool, details, result)
        return f"{result.findings} findings"
