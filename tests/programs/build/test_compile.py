"""Tests for build/compile.py: compiling in the sandbox, entry points and error messages."""

from dataclasses import replace

import pytest

from deemster.domain.limits import Limits
from deemster.domain.run_status import RunStatus
from deemster.domain.source import Source, with_included
from deemster.programs.build.compile import (
    SHOWN_BYTES,
    STARVED_TRIES,
    Build,
    CompileRequest,
    CompilerStarved,
    finish_build,
    make_request,
    retry_if_starved,
    run_request,
)
from tests.programs.conftest import OpenLanguage

JAVA_MAIN = 'public static void main(String[] a) { System.out.print("%s"); }'


async def test_compiler_messages_use_the_file_names_of_the_user(
    shared_language: OpenLanguage,
) -> None:
    async with shared_language("c") as runner:
        built = await runner.build("int main(void) { return x; }", name="solution.c")
        assert str(runner.directory.parent) not in repr(built)
    assert built.program is None
    assert built.compilation is not None
    assert "solution.c:1:25: error: " in built.compilation.output
    assert "/code" not in built.compilation.output


async def test_the_command_line_and_the_time_are_recorded(
    shared_language: OpenLanguage,
) -> None:
    """J6: with the exact compiler."""
    async with shared_language("cpp") as runner:
        built = await runner.build("int main() {}")
        assert built.compilation is not None
        assert built.compilation.argv[0] == runner.toolchain.tools["compiler"]
    assert built.compilation.argv[-1] == "/code/main.cpp"
    assert built.compilation.ms > 0
    assert built.compilation.output == ""


# -- several files --


async def test_several_files_are_compiled_together(shared_language: OpenLanguage) -> None:
    """No entry point is needed, and headers go along without being compiled."""
    files = {
        "start.c": b'#include "lib/twice.h"\n#include <stdio.h>\n'
        b'int main(void) { printf("%d\\n", twice(21)); }',
        "lib/twice.c": b'#include "twice.h"\nint twice(int n) { return 2 * n; }',
        "lib/twice.h": b"int twice(int n);",
        "lib/broken.h": b"this is no C",
    }
    async with shared_language("c") as runner:
        built = await runner.build_source(Source(files))
        report = await runner.run(built, Limits())
    assert report.stdout == b"42\n"


@pytest.mark.parametrize("name", ["größe.c", "a b;$(touch x).c", "-o.c", "@file.c", "解/題.c"])
async def test_unusual_file_names_are_not_interpreted(
    shared_language: OpenLanguage, name: str
) -> None:
    """J1: not as an option, a command or a path."""
    async with shared_language("c") as runner:
        text = b"#warning look\nint main(void) { return 7; }"
        built = await runner.build_source(Source({name: text}))
        report = await runner.run(built, Limits())
    assert report.exit_code == 7
    assert built.compilation is not None
    assert built.compilation.output.startswith(f"{name}:1:2: warning: ")


async def test_python_modules_are_found_next_to_the_main_file(
    shared_language: OpenLanguage,
) -> None:
    files = {
        "main.py": b"import lib.twice\nprint(lib.twice.twice(21))",
        "lib/__init__.py": b"",
        "lib/twice.py": b"def twice(n): return 2 * n",
    }
    async with shared_language("python3") as runner:
        built = await runner.build_source(Source(files))
        report = await runner.run(built, Limits())
    assert report.stdout == b"42\n"


async def test_a_file_in_a_directory_can_be_the_entry_point(
    shared_language: OpenLanguage,
) -> None:
    files = {"main.py": b"print('not me')", "pkg/start.py": b"print('me')"}
    async with shared_language("python3") as runner:
        built = await runner.build_source(Source(files, main="pkg/start.py"))
        report = await runner.run(built, Limits())
    assert report.stdout == b"me\n"


@pytest.mark.parametrize(
    ("language", "files", "main", "message"),
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
    shared_language: OpenLanguage,
    language: str,
    files: list[str],
    main: str | None,
    message: str,
) -> None:
    """A3: it is not a Judge Error."""
    async with shared_language(language) as runner:
        built = await runner.build_source(Source(dict.fromkeys(files, b""), main=main))
    assert built.program is None
    assert built.compilation is not None
    assert message in built.compilation.output


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
async def test_java_starts_the_class_with_a_main_method(
    shared_language: OpenLanguage, name: str, text: str
) -> None:
    async with shared_language("java") as runner:
        built = await runner.build(text % JAVA_MAIN % "started", name)
        report = await runner.run(built, Limits())
    assert report.stdout == b"started"


def java_class(name: str, package: str = "") -> bytes:
    head = f"package {package};" if package else ""
    return f"{head} public class {name} {{ {JAVA_MAIN % f'{package}.{name}'} }}".encode()


JAVA_FILES = {
    "Alpha.java": java_class("Alpha"),
    "pkg/Main.java": java_class("Main", "pkg"),
    "pkg/Other.java": java_class("Other", "pkg"),
}


STARTED = {
    "pkg.Other": b"pkg.Other",
    "pkg/Other.java": b"pkg.Other",
    "Alpha": b".Alpha",
}


def starting(built: Build, source: Source) -> Build:
    """The same classes, started as this source says: the compiler takes half a second."""
    assert built.program is not None, built.compilation
    request = make_request(built.program.toolchain, source)
    assert isinstance(request, CompileRequest)
    assert request.step is not None
    entry, problem = finish_build(request, request.step, built.program.directory)
    assert problem == ""
    return replace(built, program=replace(built.program, entry=entry))


async def test_java_starts_the_named_class_or_file_else_main(
    shared_language: OpenLanguage,
) -> None:
    async with shared_language("java") as runner:
        built = await runner.build_source(Source(JAVA_FILES))
        assert (await runner.run(built, Limits())).stdout == b"pkg.Main"
        for main, started in STARTED.items():
            named = starting(built, Source(JAVA_FILES, main=main))
            assert (await runner.run(named, Limits())).stdout == started, main


async def test_java_classes_may_have_names_of_any_alphabet(
    shared_language: OpenLanguage,
) -> None:
    names = ("Größe", "Ωmega_1", "数字$", "_Éa")
    files = {
        f"{number}.java": f"public class {name} {{ {JAVA_MAIN % name} }}".encode()
        for number, name in enumerate(names)
    }
    async with shared_language("java") as runner:
        built = await runner.build_source(Source(files, main="0.java"))
        for file, name in zip(files, names, strict=True):
            report = await runner.run(starting(built, Source(files, main=file)), Limits())
            assert report.stdout.decode() == name, report.stderr


async def test_the_public_class_decides_the_name_of_a_java_file(
    shared_language: OpenLanguage,
) -> None:
    """Also in a submission of several files, which contestants name as they like."""
    files = {"solution.java": java_class("Start"), "pkg/x.java": java_class("Other", "pkg")}
    async with shared_language("java") as runner:
        built = await runner.build_source(Source(files, main="solution.java"))
        report = await runner.run(built, Limits())
    assert report.stdout == b".Start"


@pytest.mark.parametrize(
    ("files", "main", "message"),
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
async def test_java_without_a_unique_main_method_is_a_compile_error(
    shared_language: OpenLanguage, files: dict[str, bytes], main: str | None, message: str
) -> None:
    async with shared_language("java") as runner:
        built = await runner.build_source(Source(files, main=main))
    assert built.program is None
    assert built.compilation is not None
    assert message in built.compilation.output


# -- files that a problem includes --


async def test_a_driver_calls_the_submission(shared_language: OpenLanguage) -> None:
    driver = {"main.py": b"import solve\nprint(solve.solve(20))"}
    async with shared_language("python3") as runner:
        own = Source({"solve.py": b"def solve(n): return n + 1\nprint('mine')"})
        source = with_included(runner.toolchain.language, own, driver)
        report = await runner.run(await runner.build_source(source), Limits())
    assert report.stdout == b"mine\n21\n"


async def test_a_java_driver_starts_although_the_submission_has_a_main(
    shared_language: OpenLanguage,
) -> None:
    async with shared_language("java") as runner:
        own = Source({"A.java": java_class("A"), "p/Main.java": java_class("Main", "p")})
        source = with_included(
            runner.toolchain.language, own, {"Main.java": java_class("Main")}
        )
        report = await runner.run(await runner.build_source(source), Limits())
    assert report.stdout == b".Main"


async def test_included_data_files_are_next_to_the_program(
    shared_language: OpenLanguage,
) -> None:
    own = Source(
        {
            "a.c": b'#include <stdio.h>\n#include "words.h"\nint main(void) {'
            b'FILE *f = fopen("/code/data/words", "r"); return f ? fgetc(f) - FIRST : 1; }'
        }
    )
    files = {"data/words": b"word", "words.h": b"#define FIRST 'w'", "program": b"no ELF"}
    async with shared_language("c") as runner:
        source = with_included(runner.toolchain.language, own, files)
        report = await runner.run(await runner.build_source(source), Limits())
    assert report.status is RunStatus.OK


# -- messages --


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('#include "/dev/zero"', "The compiler"),
        ('#include "/etc/shadow"', "No such file"),
        ('#include "/proc/self/environ"', "error"),
    ],
)
async def test_a_compiler_can_not_read_files_of_the_host(
    shared_language: OpenLanguage, text: str, message: str
) -> None:
    """X6, X7"""
    async with shared_language("c") as runner:
        built = await runner.build(text)
    assert built.program is None
    assert built.compilation is not None
    assert message in built.compilation.output


async def test_too_many_messages_stop_the_compiler(shared_language: OpenLanguage) -> None:
    """J2: only a limited part of them is kept."""
    text = f"#warning {'x' * 1500}\n" * 600 + "int main(void) {}"
    async with shared_language("c") as runner:
        built = await runner.build(text)
    assert built.program is None
    assert built.compilation is not None
    assert built.compilation.status is RunStatus.OUTPUT_LIMIT
    assert built.compilation.output.endswith("The compiler wrote more than 1 MB.")
    assert len(built.compilation.output) < 1.1 * SHOWN_BYTES


async def test_only_the_beginning_of_many_messages_is_shown(
    shared_language: OpenLanguage,
) -> None:
    text = f"#warning {'é' * 80}\n" * 400 + "int main(void) {}"
    async with shared_language("c") as runner:
        built = await runner.build(text)
    assert built.program is not None
    assert built.compilation is not None
    shown, _, more = built.compilation.output.rpartition("\n… and ")
    assert len(shown.encode()) < 1.1 * SHOWN_BYTES
    assert more.endswith(" KB more.")


async def test_the_source_is_not_in_the_directory_of_the_program(
    shared_language: OpenLanguage,
) -> None:
    async with shared_language("c") as runner:
        built = await runner.build("int main(void) {}")
        assert built.program is not None
        names = [path.name for path in built.program.directory.iterdir()]
    assert names == ["program"]


async def test_a_program_that_is_only_checked_runs_from_its_sources(
    shared_language: OpenLanguage,
) -> None:
    async with shared_language("python3") as runner:
        built = await runner.build("print(7)", name="seven.py")
        report = await runner.run(built, Limits())
    assert built.compilation is not None
    assert built.compilation.output == ""
    assert report.status is RunStatus.OK
    assert report.stdout == b"7\n"


# -- a busy machine --


@pytest.mark.parametrize(
    ("program", "wall_ms", "starved"),
    [("import time; time.sleep(60)", 800, True), ("while True: pass", 120_000, False)],
)
async def test_a_compiler_that_only_waited_is_tried_again(
    shared_language: OpenLanguage, program: str, wall_ms: int, starved: bool
) -> None:
    """Q3: a busy machine gives no compile error; a program that makes it wait gets one."""
    async with shared_language("python3") as runner:
        request = make_request(runner.toolchain, Source({"main.py": b"pass"}))
        assert isinstance(request, CompileRequest)
        assert request.step is not None
        limits = replace(request.step.limits, cpu_ms=300, wall_ms=wall_ms)
        slow = replace(
            request,
            argv=(request.argv[0], "-c", program),
            step=replace(request.step, limits=limits),
        )
        built = await run_request(runner.boxes, slow, runner.directory)
    assert built.program is None
    assert built.compilation is not None
    ended_by = RunStatus.WALL_LIMIT if starved else RunStatus.TIME_LIMIT
    assert built.compilation.status is ended_by
    assert built.compilation.starved is starved
    retry_if_starved(starved, tries=STARVED_TRIES)
    if starved:
        with pytest.raises(CompilerStarved):
            retry_if_starved(starved, tries=1)
    else:
        retry_if_starved(starved, tries=1)
