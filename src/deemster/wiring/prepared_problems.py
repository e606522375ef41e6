"""Opens the cache of problems that are prepared for judging."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from deemster.domain.problem_ceilings import ProblemCeilings
from deemster.pipeline.judge.prepared_problem import PreparedProblem, PreparedProblems
from deemster.problems.revision import OpenRevision
from deemster.programs.build.cached_compiler import BuildTools
from deemster.sandbox.lanes import Lanes


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
