"""A precompiled header changes how long a compile takes, and nothing else."""

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
from deemster.pipeline.judge.build.compile import Build
from deemster.pipeline.judge.build.compiler import Compiler
from deemster.pipeline.judge.build.languages import load_catalogue
from deemster.pipeline.judge.build.precompile import WORTH_USES
from deemster.pipeline.judge.build.toolchain import Missing, Toolchain, Toolchains
from deemster.pipeline.judge.execute import execute
from deemster.sandbox.boxes import Boxes
from deemster.settings import Settings
from deemster.wiring.judging import open_boxes, open_compiler

ALL = "#include <bits/stdc++.h>\n"
HELLO = ALL + 'int main() { std::cout << "hello"; }\n'
SMALL = "#include <cstddef>\nint main() {}\n"
USED = "! /data/bits/stdc++.h.gch\n"
SMALL_USED = "! /data/cstddef.gch\n"


@dataclass(frozen=True, slots=True)
class Bench:
    boxes: Boxes
    compiler: Compiler
    toolchain: Toolchain

    async def build(self, text: str) -> Build:
        source = single_file(self.toolchain.language, "program", text.encode())
        async with self.compiler.built(self.boxes, self.toolchain, source) as build:
            return build

    async def run(self, text: str) -> tuple[str, str]:
        """What the compiler says of the headers it reads, and what the program prints."""
        source = single_file(self.toolchain.language, "program", text.encode())
        async with self.compiler.built(self.boxes, self.toolchain, source) as build:
            assert build.compilation is not None
            assert build.artifact is not None, build.compilation.output
            report = await execute(self.boxes, build.artifact, Limits())
            return build.compilation.output, report.stdout.decode()


async def showing_headers(language: str) -> Toolchain:
    """A toolchain whose compiler lists what it includes, a used header with a mark."""
    found = await Toolchains().find(load_catalogue().named(language))
    if isinstance(found, Missing):
        pytest.skip(found.reason)
    step = found.language.compile
    assert step is not None
    shown = replace(found.language, compile=replace(step, argv=(*step.argv, "-H")))
    return replace(found, language=shown)


async def quickly_made() -> Toolchain:
    """The same with a small header, that of `SMALL`."""
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
async def bench(
    place: Path, toolchain: Toolchain, *, prepare: bool = True, slots: int = 1
) -> AsyncIterator[Bench]:
    runner = Path(os.environ["DEEMSTER_RUNNER"]) if "DEEMSTER_RUNNER" in os.environ else None
    settings = Settings(
        data_dir=place / "data", work_dir=place / "work", compile_cache_mb=0, runner=runner
    )
    async with (
        open_boxes(settings, [toolchain], slots=slots) as boxes,
        open_compiler(settings, prepare=prepare) as compiler,
    ):
        yield Bench(boxes, compiler, toolchain)


@asynccontextmanager
async def prepared(place: Path, toolchain: Toolchain) -> AsyncIterator[Bench]:
    async with bench(place, toolchain) as at:
        await at.compiler.prepare(at.boxes, [toolchain])
        yield at


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """Headers are large: they don't stay as other test files do."""
    yield tmp_path
    shutil.rmtree(tmp_path)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Making a header takes seconds: those tests that only use it share one."""
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
async def test_the_precompiled_header_is_used(place: Path, language: str) -> None:
    """Its flags must be the compiler's own, which GCC checks."""
    async with prepared(place, await showing_headers(language)) as at:
        said, printed = await at.run(HELLO)
    assert said.startswith(USED)
    assert printed == "hello"


PROGRAMS = {
    "a macro before": ("#define ANSWER 42\n" + ALL, "ANSWER", "42"),
    "a macro that the library asks for": ("#define NDEBUG\n" + ALL, "(assert(0), 1)", "1"),
    "a macro that changes the library": (
        "#define _GLIBCXX_DEBUG\n" + ALL,
        "(sizeof(std::vector<int>) > 3 * sizeof(void *))",
        "1",
    ),
    "the judge's macro taken away": (
        "#undef ONLINE_JUDGE\n" + ALL + "#ifndef ONLINE_JUDGE\nint gone = 1;\n#endif\n",
        "gone",
        "1",
    ),
    "another header before": ("#include <cstdio>\n" + ALL, "std::max(1, 2)", "2"),
    "code before": ("int before = 3;\n" + ALL, "before", "3"),
    "options before": ('#pragma GCC optimize("O3")\n' + ALL, "std::gcd(4, 6)", "2"),
    "options after": (ALL + '#pragma GCC target("popcnt")\n', "std::popcount(7u)", "3"),
    "included twice": (ALL + ALL, "std::gcd(4, 6)", "2"),
    "included with quotes": ('#include "bits/stdc++.h"\n', "std::gcd(4, 6)", "2"),
    "a comment before": ("/* mine */\n" + ALL, "__LINE__", "3"),
    "more of the library": (ALL + "#include <ext/numeric>\n", "__gnu_cxx::power(2, 3)", "8"),
}


@pytest.mark.parametrize(("head", "shown", "printed"), PROGRAMS.values(), ids=PROGRAMS)
async def test_a_program_means_the_same_with_it(
    shared: Path, head: str, shown: str, printed: str
) -> None:
    """Where GCC can't use it, it must leave it alone."""
    text = f"{head}int main() {{ std::cout << {shown}; }}\n"
    async with prepared(shared, await showing_headers("cpp")) as at:
        assert (await at.run(text))[1] == printed


async def test_a_program_is_byte_for_byte_what_it_is_without_it(shared: Path) -> None:
    """So the compile cache need not tell the two apart."""
    toolchain = await showing_headers("cpp")
    without = replace(toolchain, language=replace(toolchain.language, precompile=None))
    source = single_file(toolchain.language, "program", HELLO.encode())
    programs = []
    async with prepared(shared, toolchain) as at:
        for each in (toolchain, without):
            async with at.compiler.built(at.boxes, each, source) as build:
                assert build.artifact is not None
                assert build.compilation is not None
                programs.append((build.artifact.directory / "program").read_bytes())
                assert build.compilation.output.startswith(USED) is (each is toolchain)
    assert programs[0] == programs[1]


@pytest.mark.parametrize("head", ["#define int long long\n", "#define private public\n"])
async def test_what_is_wrong_without_it_is_wrong_with_it(shared: Path, head: str) -> None:
    """A macro that breaks the library breaks it here too."""
    async with prepared(shared, await showing_headers("cpp")) as at:
        build = await at.build(head + HELLO)
    assert build.artifact is None


async def test_errors_name_the_users_line_and_no_place_of_the_host(shared: Path) -> None:
    async with prepared(shared, await showing_headers("cpp")) as at:
        build = await at.build(ALL + "int main() { std::sort(1, 2); }\n")
    assert build.compilation is not None
    assert "main.cpp:2:23:" in build.compilation.output
    assert str(shared) not in build.compilation.output


async def test_a_program_that_does_not_include_it_does_not_see_it(place: Path) -> None:
    async with bench(place, await showing_headers("cpp")) as at:
        build = await at.build("int main() {}\n")
    assert build.compilation is not None
    assert "/data" not in build.compilation.argv
    assert not any((place / "data" / "precompiled" / "entries").iterdir())


async def test_it_is_made_when_that_is_worth_it(place: Path) -> None:
    async with bench(place, await quickly_made()) as at:
        used = [(await at.run(SMALL))[0].startswith(SMALL_USED) for _ in range(WORTH_USES + 1)]
    assert used == [False] * (WORTH_USES - 1) + [True] * 2


async def test_many_at_once_make_it_once(place: Path) -> None:
    toolchain = await quickly_made()
    async with bench(place, toolchain, slots=2) as at, asyncio.TaskGroup() as group:
        runs = [group.create_task(at.run(SMALL + f"// {number}")) for number in range(10)]
    assert any(run.result()[0].startswith(SMALL_USED) for run in runs)
    assert len(list((place / "data" / "precompiled" / "entries").iterdir())) == 1


async def test_without_preparing_only_what_is_there_is_used(place: Path) -> None:
    toolchain = await quickly_made()
    async with bench(place, toolchain, prepare=False) as at:
        assert SMALL_USED not in (await at.run(SMALL))[0]
    async with prepared(place, toolchain):
        pass
    async with bench(place, toolchain, prepare=False) as at:
        assert (await at.run(SMALL))[0].startswith(SMALL_USED)


async def test_one_that_was_taken_away_is_made_again(place: Path) -> None:
    async with prepared(place, await quickly_made()) as at:
        assert (await at.run(SMALL))[0].startswith(SMALL_USED)
        (entry,) = (place / "data" / "precompiled" / "entries").iterdir()
        entry.rename(place / "away")
        assert (await at.run(SMALL))[0].startswith(SMALL_USED)


async def test_one_that_was_damaged_is_made_again(place: Path) -> None:
    toolchain = await quickly_made()
    async with prepared(place, toolchain):
        pass
    (made,) = (place / "data" / "precompiled" / "entries").glob("*/files/*.gch")
    os.truncate(made, made.stat().st_size // 2)
    async with prepared(place, toolchain) as at:
        assert (await at.run(SMALL))[0].startswith(SMALL_USED)


async def test_other_flags_or_tools_have_their_own(place: Path) -> None:
    toolchain = await quickly_made()
    step = toolchain.language.precompile
    assert step is not None
    flagged = replace(step, argv=(*step.argv, "-g0"))
    others = [
        replace(toolchain, language=replace(toolchain.language, precompile=flagged)),
        replace(toolchain, version="another"),
        toolchain,
    ]
    async with bench(place, toolchain) as at:
        await at.compiler.prepare(at.boxes, [toolchain, *others])
    assert len(list((place / "data" / "precompiled" / "entries").iterdir())) == 3


async def test_when_it_cannot_be_made_that_is_said_once_and_programs_compile(
    place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    toolchain = await quickly_made()
    step = toolchain.language.precompile
    assert step is not None
    broken = replace(step, files={**step.files, "header.h": b"#error not today"})
    toolchain = replace(toolchain, language=replace(toolchain.language, precompile=broken))
    async with bench(place, toolchain) as at:
        for _ in range(WORTH_USES + 1):
            assert SMALL_USED not in (await at.run(SMALL))[0]
    assert caplog.text.count("has no precompiled header") == 1
    assert "not today" in caplog.text


async def test_without_room_for_it_programs_compile_too(
    place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    toolchain = await quickly_made()
    async with bench(place, toolchain) as at:
        (place / "data" / "precompiled" / "work").touch()  # nothing can be made in it
        await at.compiler.prepare(at.boxes, [toolchain])
        assert SMALL_USED not in (await at.run(SMALL))[0]
    assert caplog.text.count("has no precompiled header") == 1
