"""Runs programs of each installed language within their limits."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from deemster.domain.limits import MIB, Limits
from deemster.domain.run_status import RunStatus
from deemster.domain.source import Source
from deemster.programs.build.compile import CompiledProgram
from deemster.programs.build.languages import load_catalogue
from deemster.programs.build.toolchain import Missing, Toolchain, locate
from deemster.programs.execute import command_for, detect_memory_limit, sandbox_limits
from deemster.programs.selftest import self_test
from deemster.sandbox.command import ENVIRONMENT
from deemster.sandbox.wire import Report
from tests.programs.conftest import OpenLanguage

HERE = Path(__file__).parent
CATALOGUE = load_catalogue()
INSTALLED = [each.id for each in CATALOGUE if not isinstance(locate(each), Missing)]
BY_SETUP = {"c", "cpp", "cpp17", "cpp23", "java", "javascript", "python3"}
"""`./dev setup` installs these languages, so that the tests always run for them."""
LIMITS = Limits(cpu_ms=20_000, wall_ms=60_000)

FULL_HEAP = b"Terminating due to java.lang.OutOfMemoryError: Java heap space\n"
SAME_SOURCE = {"cpp17": "cpp", "cpp23": "cpp", "pypy3": "python3"}
NO_PROGRAM = {"text"}
SLOW = {"haskell", "kotlin", "nim", "scala"}
"""These compile for seconds: the default run has one program of each, `./dev corpus` all."""
OTHER_STANDARDS = {"cpp17", "cpp23"}
"""The default run has one program of each; the others are those of `cpp`, by its compiler."""
SYNTAX_ERROR = {"php": "<?php )("}
"""`)(` is a syntax error in every other language."""


def program(kind: str, language: str) -> str | None:
    """The language's program in `hogs/`, `giants/` or `deep/`."""
    files = list((HERE / kind).glob(f"{SAME_SOURCE.get(language, language)}.*"))
    return files[0].read_text() if files else None


def languages_with(kind: str) -> list[object]:
    return mark_slow(language for language in INSTALLED if program(kind, language) is not None)


def mark_slow(languages: Iterable[str]) -> list[object]:
    corpus, left_out = [pytest.mark.corpus], SLOW | OTHER_STANDARDS
    return [pytest.param(each, marks=corpus if each in left_out else []) for each in languages]


def test_the_languages_of_dev_setup_are_installed() -> None:
    assert set(INSTALLED) >= BY_SETUP


def test_every_language_has_a_memory_hog() -> None:
    without = {each.id for each in CATALOGUE if program("hogs", each.id) is None}
    assert without == NO_PROGRAM


@pytest.mark.parametrize("language", INSTALLED)
async def test_a_small_program_runs_in_32_mb(
    shared_language: OpenLanguage, language: str
) -> None:
    async with shared_language(language) as runner:
        test = runner.toolchain.language.test
        built = await runner.build(test.source)
        for memory_mb in (32, 1024):
            limits = replace(LIMITS, memory_bytes=memory_mb * MIB)
            report = await runner.run(built, limits, test.stdin.encode())
            assert report.status is RunStatus.OK, report.stderr
            assert report.stdout.decode() == test.stdout
            assert report.stderr == b""


@pytest.mark.parametrize("language", mark_slow(INSTALLED))
async def test_a_starter_template_compiles_and_runs(
    shared_language: OpenLanguage, language: str
) -> None:
    async with shared_language(language) as runner:
        built = await runner.build(runner.toolchain.language.template)
        report = await runner.run(built, LIMITS)
    assert report.status is RunStatus.OK


@pytest.mark.parametrize("language", languages_with("hogs"))
async def test_a_memory_hog_reaches_the_memory_limit(
    shared_language: OpenLanguage, language: str
) -> None:
    text = program("hogs", language) or ""
    async with shared_language(language) as runner:
        built = await runner.build(text)
        extra = runner.toolchain.language.run.extra_memory_bytes
        for memory_mb in (64, 128):
            report = await runner.run(built, replace(LIMITS, memory_bytes=memory_mb * MIB))
            assert report.status is RunStatus.MEMORY_LIMIT, report.stderr[-500:]
            assert report.memory_bytes < memory_mb * MIB + extra + 8 * MIB


@pytest.mark.parametrize("language", languages_with("giants"))
async def test_one_huge_allocation_is_a_memory_limit(
    shared_language: OpenLanguage, language: str
) -> None:
    async with shared_language(language) as runner:
        built = await runner.build(program("giants", language) or "")
        report = await runner.run(built, LIMITS)
    assert report.status is RunStatus.MEMORY_LIMIT, report.stderr[-500:]


@pytest.mark.parametrize("language", languages_with("deep"))
async def test_only_memory_limits_the_depth_of_recursion(
    shared_language: OpenLanguage, language: str
) -> None:
    async with shared_language(language) as runner:
        built = await runner.build(program("deep", language) or "")
        report = await runner.run(built, LIMITS)
    assert report.status is RunStatus.OK, report.stderr[-500:]
    assert int(report.stdout) >= 1000


@pytest.mark.parametrize(
    "language", mark_slow(each for each in INSTALLED if (HERE / "several" / each).is_dir())
)
async def test_a_program_may_have_several_files(
    shared_language: OpenLanguage, language: str
) -> None:
    directory = HERE / "several" / language
    paths = [path for path in directory.rglob("*") if path.is_file()]
    files = {str(path.relative_to(directory)): path.read_bytes() for path in paths}
    async with shared_language(language) as runner:
        report = await runner.run(await runner.build_source(Source(files)), LIMITS)
    assert report.status is RunStatus.OK, report.stderr
    assert report.stdout == b"42\n"


@pytest.mark.parametrize(
    "language", mark_slow(each for each in INSTALLED if CATALOGUE.named(each).compile)
)
async def test_a_syntax_error_is_a_compile_error(
    shared_language: OpenLanguage, language: str
) -> None:
    async with shared_language(language) as runner:
        built = await runner.build(SYNTAX_ERROR.get(language, ")("))
    assert built.program is None
    assert built.compilation is not None
    assert runner.toolchain.language.source.file in built.compilation.output


async def test_perl_hashes_have_the_same_order_in_every_run(
    shared_language: OpenLanguage,
) -> None:
    """J5."""
    text = "my %all = map { $_ => 1 } 1 .. 100; print join(' ', keys %all);"
    async with shared_language("perl") as runner:
        built = await runner.build(text)
        orders = {(await runner.run(built, LIMITS)).stdout for _ in range(5)}
    assert len(orders) == 1


async def test_a_forbidden_system_call_is_named(shared_language: OpenLanguage) -> None:
    async with shared_language("python3") as runner:
        report = await runner.run(await runner.build("import socket; socket.socket()"), LIMITS)
    assert report.status is RunStatus.FORBIDDEN_SYSCALL
    assert report.syscall == "socket"


async def test_java_reports_that_the_network_is_forbidden(
    shared_language: OpenLanguage,
) -> None:
    text = (
        "class Main { public static void main(String[] a) throws Exception {"
        ' new java.net.Socket("127.0.0.1", 80); } }'
    )
    async with shared_language("java") as runner:
        report = await runner.run(await runner.build(text), LIMITS)
    assert report.status is RunStatus.NONZERO_EXIT
    assert b"Permission denied" in report.stderr


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        ("does not compile: ", {"source": ")("}),
        ("printed b'42.0 ", {"stdout": "43\n"}),
        ("ended with nonzero_exit: ", {"source": "raise SystemExit(3)"}),
        ("ended with forbidden_syscall: socket", {"source": "import socket; socket.socket()"}),
    ],
)
async def test_a_failed_self_test_says_why(
    shared_language: OpenLanguage, problem: str, text: dict[str, str]
) -> None:
    async with shared_language("python3") as runner:
        language = runner.toolchain.language
        changed = replace(language, test=replace(language.test, **text))
        toolchain = replace(runner.toolchain, language=changed)
        result = await self_test(runner.boxes, toolchain, runner.directory.parent)
    assert result.problem.startswith(problem.rstrip(": "))


@pytest.mark.parametrize("language", ["javascript", "python3"])
async def test_a_program_cannot_start_another(
    shared_language: OpenLanguage, language: str
) -> None:
    text = {
        "javascript": "require('child_process').execSync('true')",
        "python3": "import os; os.execv('/bin/true', ['true'])",
    }
    async with shared_language(language) as runner:
        report = await runner.run(await runner.build(text[language]), LIMITS)
    assert report.status is RunStatus.FORBIDDEN_SYSCALL


@pytest.mark.parametrize(
    ("memory_mb", "stack_mb", "shown"),
    [(256, 0, ("256", "256")), (4096, 0, ("4096", "1000")), (256, 16, ("256", "16"))],
)
def test_the_stack_is_as_large_as_the_memory_limit_allows(
    tmp_path: Path, memory_mb: int, stack_mb: int, shown: tuple[str, str]
) -> None:
    toolchain = Toolchain(CATALOGUE.named("haskell"), {}, "")
    limits = Limits(memory_bytes=memory_mb * MIB, stack_bytes=stack_mb * MIB)
    argv = command_for(CompiledProgram(toolchain, tmp_path, "main"), limits).argv
    assert (f"-M{shown[0]}m", f"-K{shown[1]}m") == argv[2:4]


def test_a_runtime_gets_its_environment_variables(tmp_path: Path) -> None:
    """J5: apart from them, the environment is the same for every program."""
    toolchain = Toolchain(CATALOGUE.named("go"), {}, "")
    limits = Limits(memory_bytes=64 * MIB)
    environment = command_for(CompiledProgram(toolchain, tmp_path, "main"), limits).environment
    assert environment["GOMEMLIMIT"] == "64MiB"
    assert environment.keys() == ENVIRONMENT.keys() | {"GOMEMLIMIT", "GOMAXPROCS"}


async def test_prolog_loads_all_files_and_starts_the_program(
    shared_language: OpenLanguage,
) -> None:
    """Tested also where Prolog is not installed: it needs no compiler."""
    prolog = Toolchain(CATALOGUE.named("prolog"), {"interpreter": "swipl"}, "")
    files = dict.fromkeys(("adder.pl", "lib/doubler.pl", "main.pl", "notes.txt"), b"")
    async with shared_language("c") as runner:
        built = await replace(runner, toolchain=prolog).build_source(Source(files))
    assert built.program is not None
    argv = command_for(built.program, Limits()).argv
    assert [word for word in argv if word.startswith("/code/")] == [
        "/code/adder.pl",
        "/code/lib/doubler.pl",
        "/code/main.pl",
    ]


def test_the_memory_and_processes_of_a_runtime_are_added_to_the_limits() -> None:
    java = load_catalogue().named("java").run
    limits = sandbox_limits(java, Limits(memory_bytes=64 * MIB, processes=10))
    assert limits.memory_bytes == 64 * MIB + java.extra_memory_bytes
    assert limits.processes == 10 + java.extra_processes


@pytest.mark.parametrize(
    ("status", "stderr", "settled"),
    [
        (RunStatus.NONZERO_EXIT, FULL_HEAP, RunStatus.MEMORY_LIMIT),
        (RunStatus.SIGNALLED, FULL_HEAP, RunStatus.MEMORY_LIMIT),
        (RunStatus.NONZERO_EXIT, b"another error", RunStatus.NONZERO_EXIT),
        (RunStatus.NONZERO_EXIT, b"OutOfMemoryError: no more threads", RunStatus.NONZERO_EXIT),
        (RunStatus.OK, FULL_HEAP, RunStatus.OK),
        (RunStatus.TIME_LIMIT, FULL_HEAP, RunStatus.TIME_LIMIT),
    ],
)
def test_a_full_heap_is_a_memory_limit_only_if_the_run_failed(
    status: RunStatus, stderr: bytes, settled: RunStatus
) -> None:
    step = load_catalogue().named("java").run
    assert detect_memory_limit(step, Report(status), stderr).status is settled
