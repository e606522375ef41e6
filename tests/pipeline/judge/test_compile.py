"""Compiling in the cage: what comes out, and what is said when nothing does."""

import pytest

from deemster.domain.limits import Limits
from deemster.domain.run_status import RunStatus
from deemster.domain.source import Source, with_included
from deemster.pipeline.judge.build.compile import SHOWN_BYTES
from tests.pipeline.judge.conftest import OpenWorkshop

JAVA_MAIN = 'public static void main(String[] a) { System.out.print("%s"); }'


async def test_the_compilers_words_name_the_users_own_file(workshop: OpenWorkshop) -> None:
    async with workshop("c") as shop:
        built = await shop.build("int main(void) { return x; }", name="solution.c")
        assert str(shop.place.parent) not in repr(built)
    assert built.artifact is None
    assert built.compilation is not None
    assert "solution.c:1:25: error: " in built.compilation.output
    assert "/code" not in built.compilation.output


async def test_the_command_line_and_the_time_are_recorded(workshop: OpenWorkshop) -> None:
    """J6: with the exact compiler."""
    async with workshop("cpp") as shop:
        built = await shop.build("int main() {}")
        assert built.compilation is not None
        assert built.compilation.argv[0] == shop.toolchain.tools["compiler"]
    assert built.compilation.argv[-1] == "/code/main.cpp"
    assert built.compilation.ms > 0
    assert built.compilation.output == ""


# -- several files --


async def test_several_files_are_compiled_together(workshop: OpenWorkshop) -> None:
    """No entry point is needed, and headers go along without being compiled."""
    files = {
        "start.c": b'#include "lib/twice.h"\n#include <stdio.h>\n'
        b'int main(void) { printf("%d\\n", twice(21)); }',
        "lib/twice.c": b'#include "twice.h"\nint twice(int n) { return 2 * n; }',
        "lib/twice.h": b"int twice(int n);",
        "lib/broken.h": b"this is no C",
    }
    async with workshop("c") as shop:
        built = await shop.build_source(Source(files))
        report = await shop.run(built, Limits())
    assert report.stdout == b"42\n"


@pytest.mark.parametrize("name", ["größe.c", "a b;$(touch x).c", "-o.c", "@file.c", "解/題.c"])
async def test_odd_names_are_only_names(workshop: OpenWorkshop, name: str) -> None:
    """J1: nothing is an option, a command or a path that isn't meant as one."""
    async with workshop("c") as shop:
        text = b"#warning look\nint main(void) { return 7; }"
        built = await shop.build_source(Source({name: text}))
        report = await shop.run(built, Limits())
    assert report.exit_code == 7
    assert built.compilation is not None
    assert built.compilation.output.startswith(f"{name}:1:2: warning: ")


async def test_python_modules_are_found_beside_the_main_file(workshop: OpenWorkshop) -> None:
    files = {
        "main.py": b"import lib.twice\nprint(lib.twice.twice(21))",
        "lib/__init__.py": b"",
        "lib/twice.py": b"def twice(n): return 2 * n",
    }
    async with workshop("python3") as shop:
        built = await shop.build_source(Source(files))
        report = await shop.run(built, Limits())
    assert report.stdout == b"42\n"


async def test_a_file_in_a_directory_can_be_the_entry_point(workshop: OpenWorkshop) -> None:
    files = {"main.py": b"print('not me')", "pkg/start.py": b"print('me')"}
    async with workshop("python3") as shop:
        built = await shop.build_source(Source(files, main="pkg/start.py"))
        report = await shop.run(built, Limits())
    assert report.stdout == b"me\n"


@pytest.mark.parametrize(
    ("language", "files", "main", "said"),
    [
        (
            "python3",
            ["a.py", "b.py"],
            None,
            "name one main, or set the entry point (a.py, b.py)",
        ),
        ("python3", ["a.py", "b.py"], "c.py", "'c.py' is not one of the files"),
        ("python3", [], None, "None of the files is Python 3 source"),
        ("c", ["a.h", "b.h"], None, "None of the files is C source"),
    ],
)
async def test_an_unclear_entry_point_is_a_compile_error(
    workshop: OpenWorkshop, language: str, files: list[str], main: str | None, said: str
) -> None:
    """A3: the user's fault, never a failure of the judge."""
    async with workshop(language) as shop:
        built = await shop.build_source(Source(dict.fromkeys(files, b""), main=main))
    assert built.artifact is None
    assert built.compilation is not None
    assert said in built.compilation.output


# -- Java's classes --


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Hello.java", "public class Hello { %s }"),
        ("anything.java", "class Other {} class Solution { %s }"),
        ("upload", "package a.b; public class Deep { %s }"),
        ("Main.java", "class Aaa { static void main(int x) {} } class Zzz { %s }"),
    ],
)
async def test_java_starts_the_class_that_has_a_main(
    workshop: OpenWorkshop, name: str, text: str
) -> None:
    async with workshop("java") as shop:
        built = await shop.build(text % JAVA_MAIN % "started", name)
        report = await shop.run(built, Limits())
    assert report.stdout == b"started"


def java_class(name: str, package: str = "") -> bytes:
    head = f"package {package};" if package else ""
    return f"{head} public class {name} {{ {JAVA_MAIN % f'{package}.{name}'} }}".encode()


JAVA_FILES = {
    "Alpha.java": java_class("Alpha"),
    "pkg/Main.java": java_class("Main", "pkg"),
    "pkg/Other.java": java_class("Other", "pkg"),
}


@pytest.mark.parametrize(
    ("main", "started"),
    [
        (None, b"pkg.Main"),
        ("pkg.Other", b"pkg.Other"),
        ("pkg/Other.java", b"pkg.Other"),
        ("Alpha", b".Alpha"),
    ],
)
async def test_java_starts_the_named_class_or_file_or_else_main(
    workshop: OpenWorkshop, main: str | None, started: bytes
) -> None:
    async with workshop("java") as shop:
        built = await shop.build_source(Source(JAVA_FILES, main=main))
        report = await shop.run(built, Limits())
    assert report.stdout == started


@pytest.mark.parametrize(
    ("files", "main", "said"),
    [
        ({"Main.java": b"class Main { }"}, "Main.java", "No class has a main method."),
        (
            {"A.java": java_class("A"), "B.java": java_class("B")},
            None,
            "name one as the entry point. These have one: A, B.",
        ),
        (
            {"A.java": java_class("A"), "B.java": b"class B {}"},
            "B",
            "The entry point 'B' has no main method. These have one: A.",
        ),
        ({"A.java": java_class("A")}, "-version", "The entry point '-version' has no main"),
    ],
)
async def test_java_without_a_clear_start_is_a_compile_error(
    workshop: OpenWorkshop, files: dict[str, bytes], main: str | None, said: str
) -> None:
    async with workshop("java") as shop:
        built = await shop.build_source(Source(files, main=main))
    assert built.artifact is None
    assert built.compilation is not None
    assert said in built.compilation.output


# -- code that a problem includes --


async def test_a_driver_calls_the_submission(workshop: OpenWorkshop) -> None:
    driver = {"main.py": b"import solve\nprint(solve.solve(20))"}
    async with workshop("python3") as shop:
        own = Source({"solve.py": b"def solve(n): return n + 1\nprint('mine')"})
        source = with_included(shop.toolchain.language, own, driver)
        report = await shop.run(await shop.build_source(source), Limits())
    assert report.stdout == b"mine\n21\n"


async def test_a_java_driver_starts_although_the_submission_has_a_main(
    workshop: OpenWorkshop,
) -> None:
    async with workshop("java") as shop:
        own = Source({"A.java": java_class("A"), "p/Main.java": java_class("Main", "p")})
        source = with_included(shop.toolchain.language, own, {"Main.java": java_class("Main")})
        report = await shop.run(await shop.build_source(source), Limits())
    assert report.stdout == b".Main"


async def test_included_data_lies_beside_the_program(workshop: OpenWorkshop) -> None:
    own = Source(
        {
            "a.c": b'#include <stdio.h>\n#include "words.h"\nint main(void) {'
            b'FILE *f = fopen("/code/data/words", "r"); return f ? fgetc(f) - FIRST : 1; }'
        }
    )
    files = {"data/words": b"word", "words.h": b"#define FIRST 'w'", "program": b"no ELF"}
    async with workshop("c") as shop:
        source = with_included(shop.toolchain.language, own, files)
        report = await shop.run(await shop.build_source(source), Limits())
    assert report.status is RunStatus.OK


# -- what is said --


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('#include "/dev/zero"', "The compiler"),
        ('#include "/etc/shadow"', "No such file"),
        ('#include "/proc/self/environ"', "error"),
    ],
)
async def test_a_compiler_reads_nothing_of_the_host(
    workshop: OpenWorkshop, text: str, said: str
) -> None:
    """X6, X7"""
    async with workshop("c") as shop:
        built = await shop.build(text)
    assert built.artifact is None
    assert built.compilation is not None
    assert said in built.compilation.output


async def test_a_flood_of_messages_ends_the_compiler(workshop: OpenWorkshop) -> None:
    """J2: and what is kept of them is bounded."""
    text = f"#warning {'x' * 80}\n" * 8000 + "int main(void) {}"
    async with workshop("c") as shop:
        built = await shop.build(text)
    assert built.artifact is None
    assert built.compilation is not None
    assert built.compilation.status is RunStatus.OUTPUT_LIMIT
    assert built.compilation.output.endswith("The compiler wrote more than 1 MB.")
    assert len(built.compilation.output) < 1.1 * SHOWN_BYTES


async def test_only_the_beginning_of_many_messages_is_shown(workshop: OpenWorkshop) -> None:
    text = f"#warning {'é' * 80}\n" * 400 + "int main(void) {}"
    async with workshop("c") as shop:
        built = await shop.build(text)
    assert built.artifact is not None
    assert built.compilation is not None
    shown, _, more = built.compilation.output.rpartition("\n… and ")
    assert len(shown.encode()) < 1.1 * SHOWN_BYTES
    assert more.endswith(" KB more.")


async def test_the_source_is_not_part_of_what_runs(workshop: OpenWorkshop) -> None:
    async with workshop("c") as shop:
        built = await shop.build("int main(void) {}")
        assert built.artifact is not None
        names = [path.name for path in built.artifact.directory.iterdir()]
    assert names == ["program"]


async def test_a_checked_program_runs_from_its_sources(workshop: OpenWorkshop) -> None:
    async with workshop("python3") as shop:
        built = await shop.build("print(7)", name="seven.py")
        report = await shop.run(built, Limits())
    assert built.compilation is not None
    assert built.compilation.output == ""
    assert report.status is RunStatus.OK
    assert report.stdout == b"7\n"
