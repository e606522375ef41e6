"""Tests that no source makes the judge fail: its outcome is a verdict or a refusal (X12)."""

import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from deemster.domain.errors import Refused
from deemster.domain.limits import Limits
from deemster.domain.run_status import RunStatus
from deemster.domain.source import NAMES_BYTES, Source
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Command
from tests.programs.conftest import OpenLanguage
from tests.sandbox.conftest import RUNNER

LONG_PACKAGE = ".".join(f"p{number}{'q' * 240}" for number in range(16))
MAIN = "public static void main(String[] a) {}"
NOT_COMPILED = {
    "c": [
        "int x;",
        "\0",
        '#include "/"',
        f'#include "{"x" * 5000}"',
    ],
    "gas": ['.incbin "/dev/zero"'],
    "go": ["package notmain\nfunc F() {}", 'package main\nimport "C"\nfunc main() {}'],
    "java": [
        "",
        "\0",
        "class A {}",
        f"class {'x' * 300} {{ {MAIN} }}",
        f"package {LONG_PACKAGE};\npublic class Main {{ {MAIN} }}",
        f"class A {{ {MAIN} }}\n" + "\n".join(f"class C{n} {{}}" for n in range(2_100)),
    ],
    "pascal": ["unit a; interface implementation end."],
    "python3": ["\0"],
    "rust": [
        '#![crate_type = "lib"]\npub fn f() {}',
        '#![crate_type = "cdylib"]\npub fn f() {}',
        '#![crate_type = "staticlib"]\npub fn f() {}',
    ],
}
INTERPRETER = 'const char name[] __attribute__((section(".interp"))) = "%s";\nint main() {}\n'
DAMAGE = [
    "mkdir a; chmod 000 a; mkdir -m 000 b; ln -s / c; mkfifo d; chmod 000 /work",
    "mkdir d; cd d; for i in {1..50}; do n=$(printf %0200d $i); mkdir $n && cd $n; done",
    "ulimit -f unlimited; for i in {1..5000}; do : > f$i || break; done",
]


@pytest.mark.parametrize("language", sorted(NOT_COMPILED))
async def test_x12_a_build_without_a_program_is_a_compile_error(
    shared_language: OpenLanguage, language: str
) -> None:
    async with shared_language(language) as runner:
        for text in NOT_COMPILED[language]:
            built = await runner.build(text)
            assert built.program is None, text[:100]
            assert built.compilation is not None
            assert built.compilation.output, text[:100]


@pytest.mark.parametrize("flag", ["-c", "-fsyntax-only", "-S"])
async def test_x12_a_compiler_that_makes_something_else_is_a_compile_error(
    shared_language: OpenLanguage, flag: str
) -> None:
    """As Go and Rust do for a library, also where they are not installed."""
    async with shared_language("c") as runner:
        language = runner.toolchain.language
        assert language.compile is not None
        argv = (*language.compile.argv, flag)
        other = replace(language, compile=replace(language.compile, argv=argv))
        toolchain = replace(runner.toolchain, language=other)
        built = await replace(runner, toolchain=toolchain).build("int main(void) {}")
    assert built.program is None
    assert built.compilation is not None
    assert "program" in built.compilation.output


async def test_x12_a_missing_elf_interpreter_is_a_failure_of_the_program(
    shared_language: OpenLanguage,
) -> None:
    async with shared_language("c") as runner:
        missing = await runner.build(INTERPRETER % "/nonexistent/ld.so")
        report = await runner.run(missing, Limits())
        assert (report.status, report.exit_code) == (RunStatus.NONZERO_EXIT, 127)
        assert b"can't be started: No such file" in report.stderr
        directory = await runner.build(INTERPRETER % "/work")
        assert (await runner.run(directory, Limits())).exit_code == 126


async def test_x12_a_damaged_scratch_directory_does_not_reach_the_next_run(
    shared_language: OpenLanguage,
) -> None:
    async with shared_language("bash") as runner:
        for text in DAMAGE:
            await runner.run(await runner.build(text), Limits())
            again = await runner.run(await runner.build("ls -A; echo x > y; cat y"), Limits())
            assert again.stdout == b"x\n", again


def containing(content: bytes, mode: int = 0o755) -> Callable[[Path], object]:
    def make(path: Path) -> None:
        path.write_bytes(content)
        path.chmod(mode)

    return make


def elf(program_headers: int) -> bytes:
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    counts = struct.pack("<HHHHHH", 64, 56, program_headers, 0, 0, 0)
    return ident + struct.pack("<HHIQQQI", 2, 62, 1, 0, 64, 0, 0) + counts


NOT_EXECUTABLE: dict[str, tuple[Callable[[Path], object], int]] = {
    "missing": (lambda _: None, 127),
    "empty": (containing(b""), 126),
    "zeros": (containing(b"\0" * 4096), 126),
    "text": (containing(b"no program"), 126),
    "script without interpreter": (containing(b"#!/nonexistent\n"), 127),
    "script with a long first line": (containing(b"#!" + b"x" * 5000), 126),
    "script of itself": (containing(b"#!/code/program\n"), 126),
    "only the mark of ELF": (containing(b"\x7fELF"), 126),
    "ELF without a segment": (containing(elf(0)), 126),
    "ELF with missing segments": (containing(elf(0xFFFF)), 126),
    "not executable": (containing(b"\x7fELF", mode=0o644), 126),
    "directory": (Path.mkdir, 126),
    "link to itself": (lambda path: path.symlink_to(path.name), 126),
    "link to nothing": (lambda path: path.symlink_to("/nonexistent"), 127),
}


@pytest.fixture
def directories(tmp_path: Path) -> dict[str, Path]:
    """A directory for each kind of file."""
    found = {}
    for number, (kind, (make, _)) in enumerate(NOT_EXECUTABLE.items()):
        place = found[kind] = tmp_path / str(number)
        place.mkdir()
        place.chmod(0o755)
        make(place / "program")
    return found


async def test_x12_what_the_kernel_can_not_execute_is_a_failed_run(
    directories: dict[str, Path],
) -> None:
    async with Boxes.open(runner=RUNNER) as boxes:
        for kind, place in directories.items():
            code = NOT_EXECUTABLE[kind][1]
            report = await boxes.run(Command(("/code/program",), code=place))
            assert (report.status, report.exit_code) == (RunStatus.NONZERO_EXIT, code), kind
            assert report.stderr.startswith(b"The program can't be started: "), kind


async def test_x12_everyone_who_runs_a_program_is_told_that_it_does_not_start(
    directories: dict[str, Path],
) -> None:
    command = Command(("/code/program",), code=directories["missing"])
    reason, kept = b"The program can't be started: No such file or directory.", bytearray()
    async with Boxes.open(runner=RUNNER, slots=2) as boxes:
        assert (await boxes.run(command, stderr=kept.extend)).stderr == b""
        assert kept.startswith(reason)
        async with boxes.open_streams(command) as live:
            assert (await live.report()).stderr.startswith(reason)
        async with boxes.open_terminal(command) as terminal:
            assert (await terminal.report()).stderr.startswith(reason)
        pair = await boxes.run_pair(
            command, Command(("/bin/cat",)), wall_s=10, cancel_program_if=lambda _: True
        )
        assert (pair.program.exit_code, pair.ended_first) == (127, "program")


def test_x12_names_too_long_for_a_command_line_are_refused() -> None:
    name = "/".join(["d" * 200] * 7)
    files = {f"{name}/{number}.c": b"" for number in range(NAMES_BYTES // 1400 + 1)}
    with pytest.raises(Refused, match="shorter names"):
        Source(files)
