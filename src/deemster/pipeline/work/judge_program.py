"""Judges one program by a revision of a problem, for local workers and for judge hosts."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from deemster.domain.judgement import FaultCause, JuryJudgement, JuryText
from deemster.domain.source import Source
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.jury.programs import JuryFault
from deemster.pipeline.judge.prepared_problem import PreparedProblems
from deemster.pipeline.judge.sources import contestant_source
from deemster.programs.build.compile import retry_if_starved
from deemster.programs.build.compiler import BuildTools


@dataclass(frozen=True, slots=True)
class JudgeResult:
    judgement: JuryJudgement
    show_groups: bool = True


@dataclass(frozen=True, slots=True)
class ProgramJudge:
    build_tools: BuildTools
    problems: PreparedProblems
    most_time_ms: int
    """The operator's ceiling for time limits."""

    async def judge(
        self,
        revision: str,
        language: str,
        source: Source,
        *,
        time_ms: int,
        tries: int,
        on_part: Callable[[], None],
        time_factor: float = 1.0,
    ) -> JudgeResult:
        """A jury's program that fails gives the verdict Judge Error. Time limits are
        multiplied by `time_factor` after they were clamped.
        """
        catalogue = self.build_tools.catalogue
        named = catalogue.named(language)
        try:
            async with self.problems.prepared(revision) as problem:
                complete_source = await asyncio.to_thread(
                    contestant_source, problem.root, problem.problem, named, source, catalogue
                )
                judgement = await problem.judge(
                    named,
                    complete_source,
                    time_ms=min(time_ms, self.most_time_ms),
                    time_factor=time_factor,
                    on_case=lambda _: on_part(),
                )
                if judgement.compiled is not None:
                    retry_if_starved(judgement.compiled.starved, tries)
                return JudgeResult(judgement, problem.problem.show_groups)
        except JuryFault as fault:
            return JudgeResult(
                JuryJudgement(
                    Verdict.JUDGE_ERROR, fault=JuryText(str(fault)), cause=FaultCause.BUILD
                )
            )
