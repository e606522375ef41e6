"""Judges one program by a revision of a problem, for local workers and for judge hosts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from deemster.domain.judgement import CompileRecord, FaultCause, JuryJudgement, JuryText, OnCase
from deemster.domain.language import Language
from deemster.domain.source import Source
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.jury.programs import JuryFault
from deemster.pipeline.judge.prepared_problem import PreparedProblem, PreparedProblems
from deemster.pipeline.judge.sources import FilledTooLarge, contestant_source
from deemster.pipeline.judge.submission_judge import not_run
from deemster.pipeline.work.compile_ahead import CompileAhead
from deemster.programs.build.cached_compiler import BuildTools
from deemster.programs.build.compile import Build, retry_if_starved

READY_S: Final = 10.0
"""Longest time for which things are fetched for a run before it waits for a slot."""


@dataclass(frozen=True, slots=True)
class JudgeResult:
    judgement: JuryJudgement
    show_groups: bool = True


@dataclass(frozen=True, slots=True)
class ReadyProgram:
    """A complete program and its prepared problem; it still has to be run on the cases, and to
    be compiled if it has no build.
    """

    problem: PreparedProblem
    language: Language
    source: Source
    build: Build | None
    """Its build, if it was compiled before."""
    max_time_ms: int

    async def judge(
        self, *, time_ms: int, tries: int, on_part: OnCase, time_factor: float = 1.0
    ) -> JudgeResult:
        """Time limits are multiplied by `time_factor` after they were clamped."""
        judgement = await self.problem.judge(
            self.language,
            self.source,
            time_ms=min(time_ms, self.max_time_ms),
            time_factor=time_factor,
            on_case=on_part,
            build=self.build,
        )
        if judgement.compiled is not None:
            retry_if_starved(judgement.compiled.starved, tries)
        return JudgeResult(judgement, self.problem.problem.show_groups)


@dataclass(frozen=True, slots=True)
class ProgramJudge:
    build_tools: BuildTools
    problems: PreparedProblems
    max_time_ms: int
    """The operator's ceiling for time limits."""
    compile_ahead: CompileAhead | None = None

    @asynccontextmanager
    async def ready_ahead(
        self, revision: str, language: str, source: Source
    ) -> AsyncIterator[ReadyProgram]:
        """Does the same as `ready` for a program that has no slot yet, in a limited time, and
        compiles it if a compile slot is free.
        """
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(READY_S):
                program = await stack.enter_async_context(
                    self.ready(revision, language, source)
                )
            if program.build is None and self.compile_ahead is not None:
                build = await self.compile_ahead.build(
                    stack, program.problem, program.language, program.source
                )
                program = replace(program, build=build)
            yield program

    @asynccontextmanager
    async def ready(
        self, revision: str, language: str, source: Source
    ) -> AsyncIterator[ReadyProgram]:
        """Prepares the problem and completes the source. Raises JuryFault if a program of the
        jury does not compile, and FilledTooLarge.
        """
        catalogue = self.build_tools.catalogue
        named = catalogue.named(language)
        async with self.problems.prepared(revision) as problem:
            complete = partial(
                contestant_source, problem.root, problem.problem, named, source, catalogue
            )
            if problem.problem.includes or problem.problem.constants:
                complete_source = await asyncio.to_thread(complete)
            else:  # reads no file, and takes less time than a thread to wake up
                complete_source = complete()
            async with problem.cached_build(named, complete_source) as cached:
                yield ReadyProgram(problem, named, complete_source, cached, self.max_time_ms)

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
        """A jury's program that fails gives the verdict Judge Error."""
        try:
            async with self.ready(revision, language, source) as program:
                return await program.judge(
                    time_ms=time_ms, tries=tries, on_part=on_part, time_factor=time_factor
                )
        except FilledTooLarge as refusal:
            return await self._compile_error(revision, language, refusal)
        except JuryFault as fault:
            return JudgeResult(
                JuryJudgement(
                    Verdict.JUDGE_ERROR, fault=JuryText(str(fault)), cause=FaultCause.BUILD
                )
            )

    async def _compile_error(
        self, revision: str, language: str, refusal: FilledTooLarge
    ) -> JudgeResult:
        async with self.problems.prepared(revision) as problem:
            named = self.build_tools.catalogue.named(language)
            record = CompileRecord(named.id, "", output=str(refusal))
            judgement = JuryJudgement(
                Verdict.COMPILE_ERROR, not_run(problem.problem), compiled=record
            )
            return JudgeResult(judgement, problem.problem.show_groups)
