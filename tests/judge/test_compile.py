"""Compiling in the cage: what comes out, and what is said when nothing does."""

import pytest

from deemster.domain.limits import MIB, Limits
from deemster.domain.outcome import Status
from deemster.domain.source import Source
from tests.judge.conftest import OpenWorkshop


async def test_the_compilers_words_name_the_users_own_file(workshop: OpenWorkshop) -> None:
    async with workshop("c") as shop:
        built = await shop.build("int main(void) { return x; }", name="solution.c")
    assert built.artifact is None
    assert built.compilation is not None
    assert "solution.c:1:25: error: " in built.compilation.output
    assert "/code" not in built.compilation.output


async def test_the_command_line_and_the_time_are_recorded(workshop: OpenWorkshop) -> None:
    async with workshop("cpp") as shop:
        built = await shop.build("int main() {}")
        assert built.compilation is not None
        assert built.compilation.argv[0] == shop.toolchain.tools["compiler"]
    assert built.compilation.argv[-1] == "/code/main.cpp"
    assert built.compilation.ms > 0
    assert built.compilation.output == ""


async def test_several_files_are_compiled_together(workshop: OpenWorkshop) -> None:
    files = {
        "main.c": b'#include "twice.h"\n#include <stdio.h>\n'
        b'int main(void) { printf("%d\\n", twice(21)); }',
        "twice.c": b'#include "twice.h"\nint twice(int n) { return 2 * n; }',
        "twice.h": b"int twice(int n);",
    }
    async with workshop("c") as shop:
        built = await shop.build_source(Source(files, main="main.c"))
        report = await shop.run(built, Limits())
    assert report.stdout == b"42\n"


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
    main = 'public static void main(String[] a) { System.out.print("started"); }'
    async with workshop("java") as shop:
        built = await shop.build(text % main, name)
        report = await shop.run(built, Limits())
    assert report.stdout == b"started"


async def test_a_java_program_without_a_main_is_a_compile_error(workshop: OpenWorkshop) -> None:
    async with workshop("java") as shop:
        built = await shop.build("class Main { }")
    assert built.artifact is None
    assert built.compilation is not None
    assert "no main method" in built.compilation.output


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
    async with workshop("c") as shop:
        built = await shop.build(text)
    assert built.artifact is None
    assert built.compilation is not None
    assert said in built.compilation.output


async def test_a_flood_of_messages_ends_the_compiler(workshop: OpenWorkshop) -> None:
    text = f"#warning {'x' * 80}\n" * 8000 + "int main(void) {}"
    async with workshop("c") as shop:
        built = await shop.build(text)
    assert built.artifact is None
    assert built.compilation is not None
    assert built.compilation.output.endswith("The compiler wrote more than 1 MB.")
    assert len(built.compilation.output) < 1.1 * MIB


async def test_the_source_is_not_part_of_what_runs(workshop: OpenWorkshop) -> None:
    async with workshop("c") as shop:
        built = await shop.build("int main(void) {}")
        assert built.artifact is not None
        names = [path.name for path in built.artifact.directory.iterdir()]
    assert names == ["program"]


async def test_an_interpreted_program_has_nothing_to_compile(workshop: OpenWorkshop) -> None:
    async with workshop("python3") as shop:
        built = await shop.build("print(7)", name="seven.py")
        report = await shop.run(built, Limits())
    assert built.compilation is None
    assert report.status is Status.OK
    assert report.stdout == b"7\n"
