"""Running programs of each language within their limits."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from deemster.domain.limits import MIB, Limits
from deemster.domain.run_status import RunStatus
from deemster.domain.source import Source
from deemster.pipeline.judge.build.compile import Artifact
from deemster.pipeline.judge.build.languages import load_catalogue
from deemster.pipeline.judge.build.toolchain import Missing, Toolchain, locate
from deemster.pipeline.judge.execute import box_limits, command_for, settle_memory
from deemster.pipeline.judge.selftest import self_test
from deemster.sandbox.command import ENVIRONMENT
from deemster.sandbox.report import Report
from tests.pipeline.judge.conftest import OpenWorkshop

HERE = Path(__file__).parent
CATALOGUE = load_catalogue()
INSTALLED = [each.id for each in CATALOGUE if not isinstance(locate(each), Missing)]
BY_SETUP = {"c", "cpp", "cpp17", "cpp23", "java", "javascript", "python3"}
"""What `./dev setup` installs: with any of these missing the tests would prove little."""
LIMITS = Limits(cpu_ms=20_000, wall_ms=60_000)

FULL_HEAP = b"Terminating due to java.lang.OutOfMemoryError: Java heap space\n"
SAME_SOURCE = {"cpp17": "cpp", "cpp23": "cpp", "pypy3": "python3"}
NO_HOG = {"text"}
SLOW = {"haskell", "kotlin", "nim", "scala"}
"""Compile for seconds: the default run tries one program of each, `./dev corpus` all."""
UNREADABLE = {"php": "<?php )("}
"""What is no program; `)(` is none in any other language."""


def program(kind: str, language: str) -> str | None:
    """A language's program of `hogs/`, `giants/` or `deep/`."""
    files = list((HERE / kind).glob(f"{SAME_SOURCE.get(language, language)}.*"))
    return files[0].read_text() if files else None


def having(kind: str) -> list[object]:
    return sparing(language for language in INSTALLED if program(kind, language) is not None)


def sparing(languages: Iterable[str]) -> list[object]:
    long = pytest.mark.corpus
    return [pytest.param(each, marks=[long] if each in SLOW else []) for each in languages]


def test_the_languages_of_the_setup_are_installed() -> None:
    assert set(INSTALLED) >= BY_SETUP


def test_every_language_has_its_hog() -> None:
    without = {each.id for each in CATALOGUE if program("hogs", each.id) is None}
    assert without == NO_HOG


@pytest.mark.parametrize("language", INSTALLED)
async def test_a_small_limit_is_enough_for_a_small_program(
    workshop: OpenWorkshop, language: str
) -> None:
    async with workshop(language) as shop:
        test = shop.toolchain.language.test
        built = await shop.build(test.source)
        for memory_mb in (32, 1024):
            limits = replace(LIMITS, memory_bytes=memory_mb * MIB)
            report = await shop.run(built, limits, test.stdin.encode())
            assert report.status is RunStatus.OK, report.stderr
            assert report.stdout.decode() == test.stdout
            assert report.stderr == b""


@pytest.mark.parametrize("language", sparing(INSTALLED))
async def test_a_starter_template_compiles_and_runs(
    workshop: OpenWorkshop, language: str
) -> None:
    async with workshop(language) as shop:
        built = await shop.build(shop.toolchain.language.template)
        report = await shop.run(built, LIMITS)
    assert report.status is RunStatus.OK


@pytest.mark.parametrize("language", having("hogs"))
async def test_a_hog_reaches_the_memory_limit(workshop: OpenWorkshop, language: str) -> None:
    text = program("hogs", language) or ""
    async with workshop(language) as shop:
        built = await shop.build(text)
        extra = shop.toolchain.language.run.extra_memory_bytes
        for memory_mb in (64, 256):
            report = await shop.run(built, replace(LIMITS, memory_bytes=memory_mb * MIB))
            assert report.status is RunStatus.MEMORY_LIMIT, report.stderr[-500:]
            assert report.memory_bytes < memory_mb * MIB + extra + 8 * MIB


@pytest.mark.parametrize("language", having("giants"))
async def test_one_request_for_more_than_all_memory_is_the_memory_limit(
    workshop: OpenWorkshop, language: str
) -> None:
    async with workshop(language) as shop:
        built = await shop.build(program("giants", language) or "")
        report = await shop.run(built, LIMITS)
    assert report.status is RunStatus.MEMORY_LIMIT, report.stderr[-500:]


@pytest.mark.parametrize("language", having("deep"))
async def test_recursion_is_bounded_by_the_memory_only(
    workshop: OpenWorkshop, language: str
) -> None:
    async with workshop(language) as shop:
        built = await shop.build(program("deep", language) or "")
        report = await shop.run(built, LIMITS)
    assert report.status is RunStatus.OK, report.stderr[-500:]
    assert int(report.stdout) >= 1000


@pytest.mark.parametrize(
    "language", sparing(each for each in INSTALLED if (HERE / "several" / each).is_dir())
)
async def test_a_program_may_have_several_files(workshop: OpenWorkshop, language: str) -> None:
    place = HERE / "several" / language
    paths = [path for path in place.rglob("*") if path.is_file()]
    files = {str(path.relative_to(place)): path.read_bytes() for path in paths}
    async with workshop(language) as shop:
        report = await shop.run(await shop.build_source(Source(files)), LIMITS)
    assert report.status is RunStatus.OK, report.stderr
    assert report.stdout == b"42\n"


@pytest.mark.parametrize(
    "language", sparing(each for each in INSTALLED if CATALOGUE.named(each).compile)
)
async def test_what_is_no_program_is_a_compile_error(
    workshop: OpenWorkshop, language: str
) -> None:
    async with workshop(language) as shop:
        built = await shop.build(UNREADABLE.get(language, ")("))
    assert built.artifact is None
    assert built.compilation is not None
    assert shop.toolchain.language.source.file in built.compilation.output


async def test_hashes_come_in_the_same_order_each_time(workshop: OpenWorkshop) -> None:
    """J5."""
    text = "my %all = map { $_ => 1 } 1 .. 100; print join(' ', keys %all);"
    async with workshop("perl") as shop:
        built = await shop.build(text)
        orders = {(await shop.run(built, LIMITS)).stdout for _ in range(5)}
    assert len(orders) == 1


async def test_a_refused_call_is_named(workshop: OpenWorkshop) -> None:
    async with workshop("python3") as shop:
        report = await shop.run(await shop.build("import socket; socket.socket()"), LIMITS)
    assert report.status is RunStatus.FORBIDDEN_SYSCALL
    assert report.syscall == "socket"


async def test_java_has_no_network_and_says_so(workshop: OpenWorkshop) -> None:
    text = (
        "class Main { public static void main(String[] a) throws Exception {"
        ' new java.net.Socket("127.0.0.1", 80); } }'
    )
    async with workshop("java") as shop:
        report = await shop.run(await shop.build(text), LIMITS)
    assert report.status is RunStatus.NONZERO_EXIT
    assert b"Permission denied" in report.stderr


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("does not compile: ", {"source": ")("}),
        ("printed b'42.0 ", {"stdout": "43\n"}),
        ("ended with nonzero_exit: ", {"source": "raise SystemExit(3)"}),
        ("ended with forbidden_syscall: socket", {"source": "import socket; socket.socket()"}),
    ],
)
async def test_a_failed_self_test_says_why(
    workshop: OpenWorkshop, said: str, text: dict[str, str]
) -> None:
    async with workshop("python3") as shop:
        language = shop.toolchain.language
        changed = replace(language, test=replace(language.test, **text))
        toolchain = replace(shop.toolchain, language=changed)
        result = await self_test(shop.boxes, toolchain, shop.place.parent)
    assert result.problem.startswith(said.rstrip(": "))


@pytest.mark.parametrize("language", ["javascript", "python3"])
async def test_a_program_cannot_start_another(workshop: OpenWorkshop, language: str) -> None:
    text = {
        "javascript": "require('child_process').execSync('true')",
        "python3": "import os; os.execv('/bin/true', ['true'])",
    }
    async with workshop(language) as shop:
        report = await shop.run(await shop.build(text[language]), LIMITS)
    assert report.status is RunStatus.FORBIDDEN_SYSCALL


@pytest.mark.parametrize(
    ("memory_mb", "stack_mb", "shown"),
    [(256, 0, ("256", "256")), (4096, 0, ("4096", "1000")), (256, 16, ("256", "16"))],
)
def test_the_stack_is_as_large_as_the_limit_lets_it(
    tmp_path: Path, memory_mb: int, stack_mb: int, shown: tuple[str, str]
) -> None:
    toolchain = Toolchain(CATALOGUE.named("haskell"), {}, "")
    limits = Limits(memory_bytes=memory_mb * MIB, stack_bytes=stack_mb * MIB)
    argv = command_for(Artifact(toolchain, tmp_path, "main"), limits).argv
    assert (f"-M{shown[0]}m", f"-K{shown[1]}m") == argv[2:4]


def test_a_runtime_is_tuned_by_its_environment(tmp_path: Path) -> None:
    """J5: and finds nothing else there than every program does."""
    toolchain = Toolchain(CATALOGUE.named("go"), {}, "")
    limits = Limits(memory_bytes=64 * MIB)
    environment = command_for(Artifact(toolchain, tmp_path, "main"), limits).environment
    assert environment["GOMEMLIMIT"] == "64MiB"
    assert environment.keys() == ENVIRONMENT.keys() | {"GOMEMLIMIT", "GOMAXPROCS"}


def test_the_runtimes_own_needs_come_on_top_of_the_limits() -> None:
    java = load_catalogue().named("java").run
    limits = box_limits(java, Limits(memory_bytes=64 * MIB, processes=10))
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
def test_a_full_heap_is_the_memory_limit_only_for_a_failed_run(
    status: RunStatus, stderr: bytes, settled: RunStatus
) -> None:
    step = load_catalogue().named("java").run
    assert settle_memory(step, Report(status), stderr).status is settled
