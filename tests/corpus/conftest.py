"""Judges packages of the corpus as `deemster problem verify` does."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import pytest
import pytest_asyncio

from deemster.cli.progress import Progress
from deemster.domain.errors import Refused
from deemster.domain.expectation import Expectation
from deemster.domain.language import Language
from deemster.domain.problem import ExampleSubmission
from deemster.pipeline.judge.sources import submission_source
from deemster.pipeline.judge.verify.verifier import PackageReport, Verifier
from deemster.problems.revision import Revision
from deemster.programs.build.cached_compiler import BuildTools
from deemster.programs.build.languages import load_catalogue
from deemster.programs.build.toolchain import Missing, Toolchains
from deemster.sandbox.lanes import Lanes
from deemster.settings import Settings
from deemster.wiring.judging import make_spool, open_judging
from deemster.wiring.problems import find_needed, open_revisions
from tests.services.kept_open import KeptOpen

NEVER_SKIPPED = frozenset({"c", "cpp", "python3", "java", "javascript"})
COMMON = NEVER_SKIPPED | {"text"}
JOBS = len(os.sched_getaffinity(0))


@dataclass(frozen=True, slots=True)
class Verified:
    report: PackageReport
    missing: dict[str, str]
    """Submissions whose language is not installed, with the reason."""


Judging = tuple[BuildTools, Lanes]
JudgingOf = Callable[[int], Awaitable[Judging]]
"""Judging with so many lanes."""


class OpenVerifier(Protocol):
    def __call__(
        self, revision: Revision, jobs: int = JOBS
    ) -> AbstractAsyncContextManager[Verifier]: ...


class Verify(Protocol):
    async def __call__(
        self, package: Path, paths: Collection[str], jobs: int = JOBS
    ) -> Verified: ...


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """All workers share one data directory, so that each program is compiled once."""
    runner = Path(os.environ["DEEMSTER_RUNNER"]) if "DEEMSTER_RUNNER" in os.environ else None
    own = tmp_path_factory.mktemp("corpus")
    shared = own.parents[1] if "PYTEST_XDIST_WORKER" in os.environ else own
    return Settings(data_dir=shared / "corpus", work_dir=own / "work", runner=runner)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def common_judging(settings: Settings) -> AsyncIterator[JudgingOf]:
    """Shared by all tests of a process: opening it costs more than many packages."""
    common = [each for each in load_catalogue() if each.id in COMMON]
    opened = KeptOpen()

    async def of(jobs: int) -> Judging:
        return await opened.get(jobs, lambda: opened_judging(settings, common, jobs))

    yield of
    await opened.close()


@pytest.fixture
def open_verifier(settings: Settings, common_judging: JudgingOf) -> OpenVerifier:
    """Opens a verifier that knows all languages of the package."""

    @asynccontextmanager
    async def opened(revision: Revision, jobs: int = JOBS) -> AsyncIterator[Verifier]:
        needed = await asyncio.to_thread(find_needed, load_catalogue(), [revision])
        async with AsyncExitStack() as stack:
            if any(each.id not in COMMON for each in needed):
                judging = opened_judging(settings, needed, jobs)
                build_tools, lanes = await stack.enter_async_context(judging)
            else:
                build_tools, lanes = await common_judging(jobs)
            yield Verifier(build_tools, lanes, make_spool(settings), jobs, Progress())

    return opened


@pytest.fixture
def verify(settings: Settings, open_verifier: OpenVerifier) -> Verify:
    """Judges the named submissions of a package, also those without a label."""

    async def verified(package: Path, paths: Collection[str], jobs: int = JOBS) -> Verified:
        async with open_revisions(settings).imported(package) as revision:
            chosen = with_submissions(revision, paths)
            async with open_verifier(chosen, jobs) as verifier:
                report = await verifier.verify(package, chosen)
                missing = await find_missing(chosen, verifier.build_tools.toolchains)
        return Verified(report, missing)

    return verified


def with_submissions(revision: Revision, paths: Collection[str]) -> Revision:
    """The revision with these submissions only, also with those that its format ignores."""
    problem = revision.problem
    known = {each.path for each in problem.submissions}
    labelled = tuple(each for each in problem.submissions if each.path in paths)
    others = tuple(
        ExampleSubmission(path, label="", expectation=Expectation())
        for path in paths
        if path not in known
    )
    return replace(revision, problem=replace(problem, submissions=labelled + others))


def opened_judging(
    settings: Settings, languages: Iterable[Language], jobs: int
) -> AbstractAsyncContextManager[Judging]:
    return open_judging(settings, load_catalogue(), languages, lanes=jobs)


async def find_missing(revision: Revision, toolchains: Toolchains) -> dict[str, str]:
    """Submissions whose language is not installed, except common languages."""
    missing = {}
    for example in revision.problem.submissions:
        language = language_of(revision, example)
        found = await toolchains.find(language) if language else None
        if language and isinstance(found, Missing) and language.id not in NEVER_SKIPPED:
            missing[example.path] = found.reason
    return missing


def language_of(revision: Revision, example: ExampleSubmission) -> Language | None:
    try:
        language, _ = submission_source(
            revision.directory, revision.problem, example, load_catalogue()
        )
    except Refused:
        return None
    return language
