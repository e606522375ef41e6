"""The stage of submissions: reads one, judges it, and settles its verdict."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from deemster.domain.ids import SubmissionId, WorkId
from deemster.domain.job import NO_STAGES, StagePolicy, Task
from deemster.domain.judgement import JuryJudgement, JuryText
from deemster.domain.limits import COMPILE_S, wall_ms
from deemster.domain.source import Source, unpack_files
from deemster.domain.submission import SubmissionDetails
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.jury.programs import JuryFault
from deemster.pipeline.judge.prepared_problem import PreparedProblems
from deemster.pipeline.judge.sources import contestant_source
from deemster.pipeline.verdict.attempt import settle
from deemster.programs.build.compile import retry_if_starved
from deemster.programs.build.compiler import BuildTools
from deemster.store.artifacts import Artifacts
from deemster.store.inline_artifacts import fetch
from deemster.store.pool import Connection, Pool, connection
from deemster.store.submissions import submission_details


@dataclass(frozen=True, slots=True)
class JudgeResult:
    judgement: JuryJudgement
    show_groups: bool = True


@dataclass(frozen=True, slots=True)
class JudgeStage:
    pool: Pool
    artifacts: Artifacts
    build_tools: BuildTools
    problems: PreparedProblems
    stages: StagePolicy = NO_STAGES
    task: Task = Task.RUN

    async def read(self, connection: Connection, work: WorkId) -> SubmissionDetails | None:
        return await submission_details(connection, SubmissionId(work))

    def parts(self, details: SubmissionDetails) -> int:
        return details.cases

    def lock_s(self, details: SubmissionDetails) -> float:
        return max(wall_ms(details.time_ms) / 1000 + COMPILE_S + 5, 15)

    def deadline_s(self, details: SubmissionDetails) -> float:
        return details.deadline_s()

    async def run(self, details: SubmissionDetails, on_part: Callable[[], None]) -> JudgeResult:
        async with connection(self.pool) as acquired:
            bundle = await fetch(acquired, self.artifacts, details.source)
        catalogue = self.build_tools.catalogue
        language = catalogue.named(details.language)
        source = Source(unpack_files(bundle), main=details.main)
        try:
            async with self.problems.prepared(details.revision) as problem:
                complete_source = await asyncio.to_thread(
                    contestant_source,
                    problem.root,
                    problem.problem,
                    language,
                    source,
                    catalogue,
                )
                judgement = await problem.judge(
                    language,
                    complete_source,
                    time_ms=details.time_ms,
                    on_case=lambda _: on_part(),
                )
                if judgement.compiled is not None:
                    retry_if_starved(judgement.compiled.starved, details.tries)
                return JudgeResult(judgement, problem.problem.show_groups)
        except JuryFault as fault:
            return JudgeResult(JuryJudgement(Verdict.JUDGE_ERROR, fault=JuryText(str(fault))))

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
