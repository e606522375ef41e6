"""Judges the submission of one job: fetches its source and test data, then runs the judge."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from deemster.domain.judgement import JuryJudgement, JuryText
from deemster.domain.source import Source, unpack_files
from deemster.domain.submission import JobDetails
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.build.compiler import BuildTools
from deemster.pipeline.judge.jury.programs import JuryFault
from deemster.pipeline.judge.prepared_problem import PreparedProblems
from deemster.pipeline.judge.sources import contestant_source
from deemster.store.artifacts import Artifacts
from deemster.store.inline_artifacts import fetch
from deemster.store.pool import Pool, connection


@dataclass(frozen=True, slots=True)
class JudgeResult:
    judgement: JuryJudgement
    show_groups: bool = True


@dataclass(frozen=True, slots=True)
class JudgeService:
    pool: Pool
    artifacts: Artifacts
    build_tools: BuildTools
    problems: PreparedProblems

    async def judge(self, details: JobDetails, on_case: Callable[[], None]) -> JudgeResult:
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
                    on_case=lambda _: on_case(),
                )
                return JudgeResult(judgement, problem.problem.show_groups)
        except JuryFault as fault:
            return JudgeResult(JuryJudgement(Verdict.JUDGE_ERROR, fault=JuryText(str(fault))))
