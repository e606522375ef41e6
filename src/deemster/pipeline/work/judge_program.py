"""Judges one program by a revision of a problem, for local workers and for judge hosts."""

import asyncio
from dataclasses import dataclass
from functools import partial

from deemster.domain.judgement import CompileRecord, FaultCause, JuryJudgement, JuryText, OnCase
from deemster.domain.source import Source
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.jury.programs import JuryFault
from deemster.pipeline.judge.prepared_problem import PreparedProblems
from deemster.pipeline.judge.sources import FilledTooLarge, contestant_source
from deemster.pipeline.judge.submission_judge import not_run
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

    async def make_ready(self, revision: str) -> None:
        """Prepares the problem, if it is not, before a program is judged."""
        async with self.problems.prepared(revision):
            pass

    async def judge(
        self,
        revision: str,
        language: str,
        source: Source,
        *,
        time_ms: int,
        tries: int,
        on_part: OnCase,
        time_factor: float = 1.0,
    ) -> JudgeResult:
        """A jury's program that fails gives the verdict Judge Error. Time limits are
        multiplied by `time_factor` after they were clamped.
        """
        catalogue = self.build_tools.catalogue
        named = catalogue.named(language)
        try:
            async with self.problems.prepared(revision) as problem:
                complete = partial(
                    contestant_source, problem.root, problem.problem, named, source, catalogue
                )
                if problem.problem.includes or problem.problem.constants:
                    complete_source = await asyncio.to_thread(complete)
                else:  # reads no file, and takes less time than a thread to wake up
                    complete_source = complete()
                judgement = await problem.judge(
                    named,
                    complete_source,
                    time_ms=min(time_ms, self.most_time_ms),
                    time_factor=time_factor,
                    on_case=on_part,
                )
                if judgement.compiled is not None:
                    retry_if_starved(judgement.compiled.starved, tries)
                return JudgeResult(judgement, problem.problem.show_groups)
        except FilledTooLarge as refusal:
            record = CompileRecord(named.id, "", output=str(refusal))
            judgement = JuryJudgement(
                Verdict.COMPILE_ERROR, not_run(problem.problem), compiled=record
            )
            return JudgeResult(judgement, problem.problem.show_groups)
        except JuryFault as fault:
            return JudgeResult(
                JuryJudgement(
                    Verdict.JUDGE_ERROR, fault=JuryText(str(fault)), cause=FaultCause.BUILD
                )
            )
