"""Opens what judges the programs of a worker or judge host, with its cache of problems."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

from deemster.domain.problem_ceilings import ProblemCeilings
from deemster.pipeline.judge.prepared_problem import PreparedProblem, PreparedProblems
from deemster.pipeline.work.compile_ahead import CompileAhead
from deemster.pipeline.work.judge_program import ProgramJudge
from deemster.problems.revision import OpenRevision
from deemster.programs.build.cached_compiler import BuildTools
from deemster.programs.build.toolchain import Toolchain
from deemster.sandbox.lanes import Lanes
from deemster.settings import Settings
from deemster.settings.ceilings import problem_ceilings
from deemster.wiring.precompiling import precompiling
from deemster.wiring.warming_up import toolchain_views, warming_up


@asynccontextmanager
async def open_program_judge(
    settings: Settings,
    build_tools: BuildTools,
    lanes: Lanes,
    toolchains: Sequence[Toolchain],
    open_revision: OpenRevision,
    spool: Path,
    compile_ahead: CompileAhead | None,
) -> AsyncIterator[ProgramJudge]:
    """Within the block, the toolchains' files are also loaded into memory, and precompiled
    headers are created.
    """
    precompiled = precompiling(settings, build_tools, settings.core_locks)
    ceilings = problem_ceilings(settings)
    async with (
        warming_up(settings, toolchain_views(toolchains)),
        precompiled if settings.precompile else nullcontext(),
        open_prepared_problems(build_tools, lanes, open_revision, spool, ceilings) as problems,
    ):
        yield ProgramJudge(build_tools, problems, ceilings.time_ms, compile_ahead)


@asynccontextmanager
async def open_prepared_problems(
    build_tools: BuildTools,
    lanes: Lanes,
    open_revision: OpenRevision,
    spool: Path,
    ceilings: ProblemCeilings,
) -> AsyncIterator[PreparedProblems]:
    @asynccontextmanager
    async def open_problem(digest: str) -> AsyncIterator[PreparedProblem]:
        async with (
            open_revision(digest) as revision,
            PreparedProblem.open(
                build_tools,
                lanes,
                revision.directory,
                ceilings.clamped(revision.problem),
                spool,
            ) as prepared,
        ):
            yield prepared

    async with PreparedProblems.open(open_problem) as prepared_problems:
        yield prepared_problems
