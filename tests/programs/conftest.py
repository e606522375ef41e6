"""Builds and runs programs with real toolchains in real sandboxes."""

import os
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from deemster.domain.limits import Limits
from deemster.domain.source import Source, single_file
from deemster.programs.build.compile import Build, build
from deemster.programs.build.languages import load_catalogue
from deemster.programs.build.toolchain import Missing, Toolchain
from deemster.programs.execute import execute
from deemster.programs.workspace import workspace
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.wire import Report
from deemster.settings import Settings
from deemster.wiring.judging import open_boxes
from tests.services.kept_open import SHARED_BY_TESTS
from tests.toolchains import TOOLCHAINS


@dataclass(frozen=True, slots=True)
class ProgramRunner:
    boxes: Boxes
    toolchain: Toolchain
    directory: Path

    async def build(self, text: str, name: str = "upload") -> Build:
        return await self.build_source(
            single_file(self.toolchain.language, name, text.encode())
        )

    async def build_source(self, source: Source) -> Build:
        place = Path(tempfile.mkdtemp(dir=self.directory))
        return await build(self.boxes, self.toolchain, source, place)

    async def run(self, built: Build, limits: Limits, stdin: bytes = b"") -> Report:
        assert built.program is not None, built.compilation
        return await execute(self.boxes, built.program, limits, stdin=stdin)


OpenLanguage = Callable[[str], AbstractAsyncContextManager[ProgramRunner]]


def settings_in(directory: Path) -> Settings:
    runner = Path(os.environ["DEEMSTER_RUNNER"]) if "DEEMSTER_RUNNER" in os.environ else None
    return Settings(work_dir=directory / "work", runner=runner)


async def find_or_skip(language: str) -> Toolchain:
    found = await TOOLCHAINS.find(load_catalogue().named(language))
    if isinstance(found, Missing):
        pytest.skip(found.reason)
    return found


@pytest.fixture
def open_language(tmp_path: Path) -> OpenLanguage:
    """Opens sandboxes for one language; skips the test if it is not installed."""
    settings = settings_in(tmp_path)

    @asynccontextmanager
    async def opened(language: str) -> AsyncIterator[ProgramRunner]:
        found = await find_or_skip(language)
        async with (
            open_boxes(settings, [found]) as boxes,
            workspace(settings.work_dir) as directory,
        ):
            yield ProgramRunner(boxes, found, directory)
        assert not any(settings.work_dir.iterdir())

    return opened


@pytest.fixture
def shared_language(tmp_path: Path) -> OpenLanguage:
    """The same with sandboxes that other tests have used and will use, as a worker's are."""
    settings = settings_in(tmp_path)

    @asynccontextmanager
    async def opened(language: str) -> AsyncIterator[ProgramRunner]:
        found = await find_or_skip(language)
        boxes = await SHARED_BY_TESTS.get(
            ("boxes", language), lambda: open_boxes(settings, [found])
        )
        async with workspace(settings.work_dir) as directory:
            yield ProgramRunner(boxes, found, directory)
        assert not any(settings.work_dir.iterdir())

    return opened
