"""Tests for build/precompile.py: a precompiled header only changes the compile time."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from deemster.domain.limits import Limits
from deemster.domain.source import single_file
from deemster.programs.build.cached_compiler import CachedCompiler
from deemster.programs.build.compile import Build
from deemster.programs.build.languages import load_catalogue
from deemster.programs.build.precompile import WORTH_USES
from deemster.programs.build.toolchain import Missing, Toolchain
from deemster.programs.execute import execute
from deemster.sandbox.boxes import Boxes
from deemster.settings import Settings
from deemster.wiring.judging import open_boxes, open_compiler
from tests.toolchains import TOOLCHAINS

ALL = "#include <bits/stdc++.h>\n"
HELLO = ALL + 'int main() { std::cout << "hello"; }\n'
SMALL_HEADER = "#include <cstddef>\n"
SMALL = SMALL_HEADER + "int main() {}\n"
USED = "! /data/bits/stdc++.h.gch\n"
SMALL_USED = "! /data/cstddef.gch\n"


@dataclass(frozen=True, slots=True)
class CompilerSetup:
    boxes: Boxes
    compiler: CachedCompiler
    toolchain: Toolchain

    async def build(self, text: str) -> Build:
        source = single_file(self.toolchain.language, "program", text.encode())
        async with self.compiler.built(self.boxes, self.toolchain, source) as build:
            return build

    async def run(self, text: str) -> tuple[str, str]:
        """The compiler's list of headers, and the output of the program."""
        source = single_file(self.toolchain.language, "program", text.encode())
        async with self.compiler.built(self.boxes, self.toolchain, source) as build:
            assert build.compilation is not None
            assert build.program is not None, build.compilation.output
            report = await execute(self.boxes, build.program, Limits())
            return build.compilation.output, report.stdout.decode()


async def showing_headers(language: str) -> Toolchain:
    """A toolchain whose compiler lists the headers it reads, precompiled ones with `!`."""
    found = await TOOLCHAINS.find(load_catalogue().named(language))
    if isinstance(found, Missing):
        pytest.skip(found.reason)
    step = found.language.compile
    assert step is not None
    shown = replace(found.language, compile=replace(step, argv=(*step.argv, "-H")))
    return replace(found, language=shown)


async def small_header() -> Toolchain:
    """The same with the small header that `SMALL` includes."""
    toolchain = await showing_headers("cpp")
    step = toolchain.language.precompile
    assert step is not None
    quick = replace(
        step,
        when="cstddef",
        files={"header.h": b"#include <cstddef>", "cstddef": b"#include_next <cstddef>"},
        output="cstddef.gch",
    )
    return replace(toolchain, language=replace(toolchain.language, precompile=quick))


@asynccontextmanager
async def open_setup(
    directory: Path, toolchain: Toolchain, *, on_demand: bool = True, slots: int = 1
) -> AsyncIterator[CompilerSetup]:
    runner = Path(os.environ["DEEMSTER_RUNNER"]) if "DEEMSTER_RUNNER" in os.environ else None
    settings = Settings(
        data_dir=directory / "data",
        work_dir=directory / "work",
        compile_cache_mb=0,
        runner=runner,
    )
    async with (
        open_boxes(settings, [toolchain], slots=slots) as boxes,
        open_compiler(settings, precompile_on_demand=on_demand) as compiler,
    ):
        yield CompilerSetup(boxes, compiler, toolchain)


@asynccontextmanager
async def prepared(directory: Path, toolchain: Toolchain) -> AsyncIterator[CompilerSetup]:
    async with open_setup(directory, toolchain) as setup:
        await setup.compiler.prepare(setup.boxes, [toolchain])
        yield setup


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """Removes the headers at the end, because they are large."""
    yield tmp_path
    shutil.rmtree(tmp_path)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Creating a header takes seconds, so the tests that only use it share one."""
    path = tmp_path_factory.mktemp("precompiled")
    yield path
    shutil.rmtree(path)


@pytest.mark.parametrize(
    "language",
    [
        "cpp",
        pytest.param("cpp17", marks=pytest.mark.corpus),
        pytest.param("cpp23", marks=pytest.mark.corpus),
    ],
)
async def test_the_precompiled_header_is_used(shared: Path, language: str) -> None:
    """The header must be compiled with the flags of the program; GCC checks this."""
    async with prepared(shared, await showing_headers(language)) as setup:
        headers, printed = await setup.run(HELLO)
    assert headers.startswith(USED)
    assert printed == "hello"


PROGRAMS = {
    "a macro before": ("#define ANSWER 42\n" + ALL, "ANSWER", "42"),
    "a macro that the library asks for": ("#define NDEBUG\n" + ALL, "(assert(0), 1)", "1"),
    "a macro that changes the library": (
        "#define _GLIBCXX_DEBUG\n" + ALL,
        "(sizeof(std::vector<int>) > 3 * sizeof(void *))",
        "1",
    ),
    "options before": ('#pragma GCC optimize("O3")\n' + ALL, "std::gcd(4, 6)", "2"),
    "options after": (ALL + '#pragma GCC target("popcnt")\n', "std::popcount(7u)", "3"),
    "included twice": (ALL + ALL, "std::gcd(4, 6)", "2"),
    "included with quotes": ('#include "bits/stdc++.h"\n', "std::gcd(4, 6)", "2"),
    "a comment before": ("/* mine */\n" + ALL, "__LINE__", "3"),
    "more of the library": (ALL + "#include <ext/numeric>\n", "__gnu_cxx::power(2, 3)", "8"),
}


@pytest.mark.corpus
@pytest.mark.parametrize(("head", "shown", "printed"), PROGRAMS.values(), ids=PROGRAMS)
async def test_a_program_behaves_the_same_with_the_header(
    shared: Path, head: str, shown: str, printed: str
) -> None:
    """GCC must not use the header where it would make a difference."""
    text = f"{head}int main() {{ std::cout << {shown}; }}\n"
    async with prepared(shared, await showing_headers("cpp")) as setup:
        assert (await setup.run(text))[1] == printed


SMALL_PROGRAMS = {
    "the judge's macro taken away": (
        "#undef ONLINE_JUDGE\n"
        + SMALL_HEADER
        + "#ifndef ONLINE_JUDGE\nint gone = 1;\n#endif\n",
        "gone",
        "1",
    ),
    "another header before": (
        "#include <cstdlib>\n" + SMALL_HEADER,
        "std::abs(-2)",
        "2",
    ),
    "code before": ("int before = 3;\n" + SMALL_HEADER, "before", "3"),
}


@pytest.mark.parametrize(
    ("head", "shown", "printed"), SMALL_PROGRAMS.values(), ids=SMALL_PROGRAMS
)
async def test_a_program_is_compiled_without_a_header_that_does_not_fit(
    directory: Path, head: str, shown: str, printed: str
) -> None:
    text = f'{head}int main() {{ __builtin_printf("%d", {shown}); }}\n'
    async with prepared(directory, await small_header()) as setup:
        headers, output = await setup.run(text)
    assert SMALL_USED not in headers
    assert output == printed


@pytest.mark.corpus
async def test_the_compiled_program_is_the_same_without_the_header(shared: Path) -> None:
    """So the header need not be part of the cache key."""
    toolchain = await showing_headers("cpp")
    without = replace(toolchain, language=replace(toolchain.language, precompile=None))
    source = single_file(toolchain.language, "program", HELLO.encode())
    programs = []
    async with prepared(shared, toolchain) as setup:
        for each in (toolchain, without):
            async with setup.compiler.built(setup.boxes, each, source) as build:
                assert build.program is not None
                assert build.compilation is not None
                programs.append((build.program.directory / "program").read_bytes())
                assert build.compilation.output.startswith(USED) is (each is toolchain)
    assert programs[0] == programs[1]


@pytest.mark.corpus
@pytest.mark.parametrize("head", ["#define int long long\n", "#define private public\n"])
async def test_an_error_without_the_header_is_an_error_with_it(shared: Path, head: str) -> None:
    """A macro can break the standard library."""
    async with prepared(shared, await showing_headers("cpp")) as setup:
        build = await setup.build(head + HELLO)
    assert build.program is None


@pytest.mark.corpus
async def test_errors_name_the_line_and_no_path_of_the_host(shared: Path) -> None:
    async with prepared(shared, await showing_headers("cpp")) as setup:
        build = await setup.build(ALL + "int main() { std::sort(1, 2); }\n")
    assert build.compilation is not None
    assert "main.cpp:2:23:" in build.compilation.output
    assert str(shared) not in build.compilation.output


async def test_a_program_that_does_not_include_the_header_does_not_get_it(
    directory: Path,
) -> None:
    async with open_setup(directory, await showing_headers("cpp")) as setup:
        build = await setup.build("int main() {}\n")
    assert build.compilation is not None
    assert "/data" not in build.compilation.argv
    assert not any((directory / "data" / "precompiled" / "entries").iterdir())


async def test_a_header_is_created_when_it_is_worth_the_time(directory: Path) -> None:
    async with open_setup(directory, await small_header()) as setup:
        used = [
            (await setup.run(SMALL))[0].startswith(SMALL_USED) for _ in range(WORTH_USES + 1)
        ]
    assert used == [False] * (WORTH_USES - 1) + [True] * 2


async def test_concurrent_builds_create_the_header_once(directory: Path) -> None:
    toolchain = await small_header()
    async with open_setup(directory, toolchain, slots=2) as setup, asyncio.TaskGroup() as group:
        runs = [group.create_task(setup.run(SMALL + f"// {number}")) for number in range(10)]
    assert any(run.result()[0].startswith(SMALL_USED) for run in runs)
    assert len(list((directory / "data" / "precompiled" / "entries").iterdir())) == 1


async def test_without_demand_only_existing_headers_are_used(directory: Path) -> None:
    toolchain = await small_header()
    async with open_setup(directory, toolchain, on_demand=False) as setup:
        assert SMALL_USED not in (await setup.run(SMALL))[0]
    async with prepared(directory, toolchain):
        pass
    async with open_setup(directory, toolchain, on_demand=False) as setup:
        assert (await setup.run(SMALL))[0].startswith(SMALL_USED)


async def test_a_removed_header_is_created_again(directory: Path) -> None:
    async with prepared(directory, await small_header()) as setup:
        assert (await setup.run(SMALL))[0].startswith(SMALL_USED)
        (entry,) = (directory / "data" / "precompiled" / "entries").iterdir()
        entry.rename(directory / "away")
        assert (await setup.run(SMALL))[0].startswith(SMALL_USED)


async def test_a_damaged_header_is_created_again(directory: Path) -> None:
    toolchain = await small_header()
    async with prepared(directory, toolchain):
        pass
    (made,) = (directory / "data" / "precompiled" / "entries").glob("*/files/*.gch")
    os.truncate(made, made.stat().st_size // 2)
    async with prepared(directory, toolchain) as setup:
        assert (await setup.run(SMALL))[0].startswith(SMALL_USED)


async def test_other_flags_or_tools_have_separate_headers(directory: Path) -> None:
    toolchain = await small_header()
    step = toolchain.language.precompile
    assert step is not None
    flagged = replace(step, argv=(*step.argv, "-g0"))
    others = [
        replace(toolchain, language=replace(toolchain.language, precompile=flagged)),
        replace(toolchain, version="another"),
        toolchain,
    ]
    async with open_setup(directory, toolchain) as setup:
        await setup.compiler.prepare(setup.boxes, [toolchain, *others])
    assert len(list((directory / "data" / "precompiled" / "entries").iterdir())) == 3


async def test_a_header_that_fails_is_logged_once_and_programs_compile(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    toolchain = await small_header()
    step = toolchain.language.precompile
    assert step is not None
    broken = replace(step, files={**step.files, "header.h": b"#error not today"})
    toolchain = replace(toolchain, language=replace(toolchain.language, precompile=broken))
    async with open_setup(directory, toolchain) as setup:
        for _ in range(WORTH_USES + 1):
            assert SMALL_USED not in (await setup.run(SMALL))[0]
    assert caplog.text.count("has no precompiled header") == 1
    assert "not today" in caplog.text


async def test_programs_compile_if_the_header_can_not_be_stored(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    toolchain = await small_header()
    async with open_setup(directory, toolchain) as setup:
        (
            directory / "data" / "precompiled" / "work"
        ).touch()  # no directory can be created in it
        await setup.compiler.prepare(setup.boxes, [toolchain])
        assert SMALL_USED not in (await setup.run(SMALL))[0]
    assert caplog.text.count("has no precompiled header") == 1
