"""Prepares problems for judging: compiles their jury programs once for all submissions."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from deemster.domain.judgement import CompileRecord, JuryJudgement, OnCase
from deemster.domain.language import Language
from deemster.domain.problem import JuryProgram, Problem
from deemster.domain.run_status import RunStatus
from deemster.domain.source import Source
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.answer_judge import AnswerJudge
from deemster.pipeline.judge.case_files import CaseFiles
from deemster.pipeline.judge.case_judge import CaseJudge
from deemster.pipeline.judge.jury.programs import PreparedJuryProgram, prepare_program
from deemster.pipeline.judge.sources import jury_programs
from deemster.pipeline.judge.submission_judge import SubmissionJudge, ignore, not_run
from deemster.programs.build.cached_compiler import BuildTools
from deemster.programs.build.compile import Build, CompiledProgram
from deemster.programs.build.toolchain import Toolchain
from deemster.sandbox.lanes import Lanes

HEADERS = (".h", ".hh", ".hpp", ".hxx")
MAX_PREPARED: Final = 16


@dataclass(frozen=True, slots=True)
class PreparedProblem:
    build_tools: BuildTools
    lanes: Lanes
    root: Path
    """The directory of the problem's revision."""
    problem: Problem
    programs: Mapping[JuryProgram, PreparedJuryProgram]
    spool_dir: Path
    files: CaseFiles

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        build_tools: BuildTools,
        lanes: Lanes,
        root: Path,
        problem: Problem,
        spool_dir: Path,
    ) -> AsyncIterator["PreparedProblem"]:
        """Compiles the jury programs; raises JuryFault for one that does not compile."""
        async with AsyncExitStack() as stack:
            programs: dict[JuryProgram, PreparedJuryProgram] = {}
            for program in jury_programs(problem):
                async with lanes.acquire() as boxes:
                    prepared = prepare_program(boxes, build_tools, root, problem, program)
                    programs[program] = await stack.enter_async_context(prepared)
            files = CaseFiles(root)
            yield cls(build_tools, lanes, root, problem, programs, spool_dir, files)

    @asynccontextmanager
    async def cached_build(
        self, language: Language, source: Source
    ) -> AsyncIterator[Build | None]:
        """The build of a contestant's program if no compiler has to run for it, usable within
        the block.
        """
        if self.problem.submit_answer:
            yield None
            return
        toolchain = await self.build_tools.toolchains.require(language)
        async with self.build_tools.compiler.cached(toolchain, source) as build:
            yield build

    async def judge(
        self,
        language: Language,
        source: Source,
        *,
        time_ms: int,
        time_factor: float = 1.0,
        width: int = 1,
        on_case: OnCase = ignore,
        build: Build | None = None,
    ) -> JuryJudgement:
        """Compiles the program unless its build is given, and runs up to `width` cases at once.

        Each of these has its own lane. All time limits, also those of single cases, are
        multiplied by `time_factor`.
        """
        judge = SubmissionJudge(
            self.lanes, self.problem, self.programs, self.build_tools.work_dir, width, on_case
        )
        if self.problem.submit_answer:
            return await judge.judge(self.answer_judge(source), source, language)
        if build is not None and build.program is not None:
            toolchain = build.program.toolchain
        else:
            toolchain = await self.build_tools.toolchains.require(language)
        async with AsyncExitStack() as stack:
            build = build or await self._build(stack, toolchain, source)
            record = record_of(build, language, toolchain.version)
            if build.program is None:
                cases = not_run(self.problem)
                return JuryJudgement(Verdict.COMPILE_ERROR, cases, compiled=record)
            case_judge = self._case_judge(build.program, language, source, time_ms, time_factor)
            record = replace(record, run_argv=case_judge.command_line())
            return await judge.judge(case_judge, source, language, record)

    async def _build(
        self, stack: AsyncExitStack, toolchain: Toolchain, source: Source
    ) -> Build:
        async with self.lanes.acquire() as boxes:
            built = self.build_tools.compiler.built(boxes, toolchain, source)
            return await stack.enter_async_context(built)

    def answer_judge(self, source: Source) -> AnswerJudge:
        return AnswerJudge(
            root=self.root,
            problem=self.problem,
            files=source.files,
            programs=self.programs,
            work_dir=self.build_tools.work_dir,
        )

    def _case_judge(
        self,
        program: CompiledProgram,
        language: Language,
        source: Source,
        time_ms: int,
        time_factor: float,
    ) -> CaseJudge:
        return CaseJudge(
            root=self.root,
            problem=self.problem,
            program=program,
            time_ms=time_ms,
            programs=self.programs,
            work_dir=self.build_tools.work_dir,
            spool_dir=self.spool_dir,
            data_files=data_files(language, source),
            files=self.files,
            time_factor=time_factor,
        )


Open = Callable[[str], AbstractAsyncContextManager[PreparedProblem]]
"""Prepares the problem revision with the given digest."""


@dataclass(slots=True)
class CachedProblem:
    ready: asyncio.Future[PreparedProblem]
    evicted: asyncio.Event = field(default_factory=asyncio.Event)
    users: int = 0


class PreparedProblems:
    """A cache of prepared problems that evicts the least recently used ones.

    Callers that ask for the same revision at the same time share one preparation.
    """

    def __init__(self, open_problem: Open, group: asyncio.TaskGroup, max_prepared: int) -> None:
        self._open_problem = open_problem
        self._group = group
        self._max_prepared = max_prepared
        self._cached: OrderedDict[str, CachedProblem] = OrderedDict()

    @classmethod
    @asynccontextmanager
    async def open(
        cls, open_problem: Open, *, max_prepared: int = MAX_PREPARED
    ) -> AsyncIterator["PreparedProblems"]:
        async with asyncio.TaskGroup() as group:
            problems = cls(open_problem, group, max_prepared)
            try:
                yield problems
            finally:
                for cached in problems._cached.values():
                    cached.evicted.set()

    @asynccontextmanager
    async def prepared(self, digest: str) -> AsyncIterator[PreparedProblem]:
        """The problem is not evicted while the block runs."""
        cached = self._cached.get(digest) or self._add(digest)
        self._cached.move_to_end(digest)
        cached.users += 1
        try:
            # Shielded because other callers may wait for the same preparation.
            yield await asyncio.shield(cached.ready)
        finally:
            cached.users -= 1
            self._evict()

    def _add(self, digest: str) -> CachedProblem:
        ready = asyncio.get_running_loop().create_future()
        cached = self._cached[digest] = CachedProblem(ready)
        self._group.create_task(self._keep(digest, cached))
        return cached

    async def _keep(self, digest: str, cached: CachedProblem) -> None:
        """The task that opens a problem also closes it: contexts may be bound to their task."""
        try:
            async with self._open_problem(digest) as prepared:
                cached.ready.set_result(prepared)
                await cached.evicted.wait()
        except Exception as error:
            if cached.ready.done():
                raise
            self._cached.pop(digest, None)
            cached.ready.set_exception(error)
            cached.ready.exception()  # avoids a warning when every caller has been cancelled
        finally:
            if not cached.ready.done():
                cached.ready.cancel()

    def evict_unused(self) -> None:
        """Releases all problems that nobody uses at the moment."""
        self._evict(keep=0)

    def _evict(self, keep: int | None = None) -> None:
        most = self._max_prepared if keep is None else keep
        unused = [digest for digest, cached in self._cached.items() if not cached.users]
        for digest in unused[: max(0, len(self._cached) - most)]:
            self._cached.pop(digest).evicted.set()


def data_files(language: Language, source: Source) -> dict[str, bytes]:
    """The files of a submission that its program may open by name.

    A script of several files may open all of them; otherwise these are the files that are
    neither sources nor headers.
    """
    step = language.compile
    interpreted = step is None or not step.output
    if interpreted and len(source.files) > 1:
        return dict(source.files)
    return {
        name: content
        for name, content in source.files.items()
        if not language.is_source(name) and not name.endswith(HEADERS)
    }


def record_of(build: Build, language: Language, version: str) -> CompileRecord:
    """Records the exact compiler version and command line behind a verdict (J6)."""
    compilation = build.compilation
    return CompileRecord(
        language=language.id,
        version=version,
        argv=compilation.argv if compilation else (),
        output=compilation.output if compilation else "",
        ms=compilation.ms if compilation else 0,
        starved=compilation.starved if compilation else False,
        cached=build.from_cache,
        status=compilation.status if compilation else RunStatus.OK,
    )
