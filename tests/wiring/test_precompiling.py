"""A worker creates precompiled headers in the background, and no program waits for them."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from deemster.domain.language import Catalogue
from deemster.domain.source import single_file
from deemster.programs.build.cached_compiler import BuildTools
from deemster.programs.build.languages import load_catalogue
from deemster.programs.build.toolchain import Toolchain, Toolchains
from deemster.settings import Settings
from deemster.wiring.judging import open_boxes, open_compiler
from deemster.wiring.precompiling import precompiling
from tests.waiting import until

PROGRAM = b"#include <cstddef>\nint main() {}\n"


def small_catalogue() -> Catalogue:
    """C++ alone, with a header that is created quickly."""
    language = load_catalogue().named("cpp")
    assert language.precompile is not None
    step = replace(
        language.precompile,
        when="cstddef",
        files={"header.h": b"#include <cstddef>", "cstddef": b"#include_next <cstddef>"},
        output="cstddef.gch",
    )
    return Catalogue([replace(language, precompile=step)])


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    runner = Path(os.environ["DEEMSTER_RUNNER"]) if "DEEMSTER_RUNNER" in os.environ else None
    yield Settings(
        data_dir=tmp_path / "data",
        work_dir=tmp_path / "work",
        compile_cache_mb=0,
        runner=runner,
    )
    shutil.rmtree(tmp_path)


async def test_headers_are_created_in_the_background_and_not_by_programs(
    settings: Settings,
) -> None:
    catalogue = small_catalogue()
    toolchains = Toolchains()
    [toolchain] = await toolchains.find_all(catalogue)
    assert isinstance(toolchain, Toolchain)
    source = single_file(toolchain.language, "program", PROGRAM)

    async with (
        open_boxes(settings, [toolchain]) as boxes,
        open_compiler(settings, precompile_on_demand=False) as compiler,
    ):

        async def uses_header() -> bool:
            async with compiler.built(boxes, toolchain, source) as build:
                assert build.program is not None
                assert build.compilation is not None
                return any("/data" in each for each in build.compilation.argv)

        assert not any([await uses_header() for _ in range(5)])
        tools = BuildTools(catalogue, toolchains, compiler, settings.work_dir)
        async with precompiling(settings, tools, settings.work_dir / "cores"):
            await until(uses_header)
        assert await compiler.unprepared([toolchain]) == []
