"""The stage of submissions: reads one, judges it, and settles its verdict."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from deemster.domain.ids import SubmissionId, WorkId
from deemster.domain.job import NO_STAGES, StagePolicy, Task
from deemster.domain.judgement import OnCase
from deemster.domain.limits import COMPILE_S, wall_ms
from deemster.domain.source import Source, unpack_files
from deemster.domain.submission import SubmissionDetails
from deemster.pipeline.verdict.attempt import settle
from deemster.pipeline.work.job_executor import ReadyRun
from deemster.pipeline.work.judge_program import READY_S, JudgeResult, ProgramJudge
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Connection, Pool
from deemster.store.submissions import submission_details


@dataclass(frozen=True, slots=True)
class JudgeStage:
    pool: Pool
    artifacts: Artifacts
    programs: ProgramJudge
    stages: StagePolicy = NO_STAGES
    task: Task = Task.RUN

    async def read(self, connection: Connection, work: WorkId) -> SubmissionDetails | None:
        """Also reads a small source, so that the run needs nothing of the database."""
        return await submission_details(connection, SubmissionId(work), with_source=True)

    @asynccontextmanager
    async def ready(
        self, details: SubmissionDetails
    ) -> AsyncIterator[ReadyRun[SubmissionDetails, JudgeResult]]:
        """Fetches what the run needs, and compiles the program if a compile slot is free."""
        async with asyncio.timeout(READY_S):
            source = await self._source(details)
        ready = self.programs.ready_ahead(details.revision, details.language, source)
        async with ready as program:

            async def run(started: SubmissionDetails, on_part: OnCase) -> JudgeResult:
                return await program.judge(
                    time_ms=started.time_ms, tries=started.tries, on_part=on_part
                )

            yield run

    def parts(self, details: SubmissionDetails) -> int:
        return details.cases

    def lock_s(self, details: SubmissionDetails) -> float:
        return max(wall_ms(details.time_ms) / 1000 + COMPILE_S + 5, 15)

    def deadline_s(self, details: SubmissionDetails) -> float:
        return details.deadline_s()

    async def run(self, details: SubmissionDetails, on_part: OnCase) -> JudgeResult:
        return await self.programs.judge(
            details.revision,
            details.language,
            await self._source(details),
            time_ms=details.time_ms,
            tries=details.tries,
            on_part=on_part,
        )

    async def _source(self, details: SubmissionDetails) -> Source:
        bundle = details.bundle
        if bundle is None:
            bundle = await self.artifacts.get(details.source)
        return Source(unpack_files(bundle), main=details.main)

    async def settle(self, details: SubmissionDetails, result: JudgeResult) -> str:
        await settle(
            self.pool,
            self.artifacts,
            details,
            result.judgement,
            show_groups=result.show_groups,
            stages=self.stages,
        )
        return str(result.judgement.verdict)
