"""The stages that analyse programs: after a verdict, or on request for a program that ended."""

from dataclasses import dataclass
from typing import ClassVar

from deemster.domain.ids import RevisionDigest, WorkId
from deemster.domain.job import Task
from deemster.domain.judgement import OnCase
from deemster.domain.limits import ANALYSIS_S
from deemster.domain.source import Source, unpack_files
from deemster.domain.stage import StageDetails
from deemster.domain.stored_analysis import AnalysisRecord, RequestedAnalysis
from deemster.pipeline.verdict.attempt import settle_analysis, settle_requested_analysis
from deemster.pipeline.work.analyze_program import ProgramAnalyzer
from deemster.pipeline.work.timed_stage import SubmissionStage, TimedStage
from deemster.store import analyses
from deemster.store.artifacts import Artifacts
from deemster.store.inline_artifacts import fetch
from deemster.store.pool import Connection, Pool, connection


@dataclass(frozen=True, slots=True)
class SubmissionAnalyzer:
    """Reads the files of submissions, and analyses them."""

    pool: Pool
    artifacts: Artifacts
    programs: ProgramAnalyzer

    async def analyze_submission(
        self, source: str, main: str | None, language: str, revision: RevisionDigest
    ) -> AnalysisRecord:
        """`source` is the digest of the artifact with the files."""
        async with connection(self.pool) as acquired:
            bundle = await fetch(acquired, self.artifacts, source)
        own = Source(unpack_files(bundle), main=main)
        return await self.programs.analyze_program(language, own, revision)


@dataclass(frozen=True, slots=True)
class AnalyzeStage(SubmissionStage):
    limit_s: ClassVar[float] = ANALYSIS_S
    pool: Pool
    submissions: SubmissionAnalyzer
    task: Task = Task.ANALYZE

    async def run(self, details: StageDetails, on_part: OnCase) -> AnalysisRecord:
        return await self.submissions.analyze_submission(
            details.source, details.main, details.language, details.revision
        )

    async def settle(self, details: StageDetails, result: AnalysisRecord) -> str:
        await settle_analysis(self.pool, details, result)
        return f"{result.findings} findings"


@dataclass(frozen=True, slots=True)
class RequestedAnalysisStage(TimedStage):
    limit_s: ClassVar[float] = ANALYSIS_S
    pool: Pool
    submissions: SubmissionAnalyzer
    task: Task = Task.ANALYZE_LATER

    async def read(self, connection: Connection, work: WorkId) -> RequestedAnalysis | None:
        return await analyses.request_details(connection, work)

    async def run(self, details: RequestedAnalysis, on_part: OnCase) -> AnalysisRecord:
        if details.source is not None and details.revision is not None:
            return await self.submissions.analyze_submission(
                details.source, details.main, details.language, details.revision
            )
        assert details.files is not None, "an execution has files"
        source = Source(unpack_files(details.files), main=details.main)
        programs = self.submissions.programs
        return await programs.analyze_program(details.language, source, None)

    async def settle(self, details: RequestedAnalysis, result: AnalysisRecord) -> str:
        await settle_requested_analysis(self.pool, details, result)
        return f"{result.findings} findings"
