"""Running programs of each language within their limits."""

from dataclasses import replace

import pytest

from deemster.domain.limits import MIB, Limits
from deemster.domain.outcome import Status
from deemster.pipeline.judge.execute import Tail, box_limits, settle_memory
from deemster.pipeline.judge.languages import load_catalogue
from deemster.pipeline.judge.selftest import self_test
from deemster.sandbox.report import Report
from tests.judge.conftest import OpenWorkshop

LANGUAGES = [language.id for language in load_catalogue()]
LIMITS = Limits(cpu_ms=10_000, wall_ms=30_000)

FULL_HEAP = b"Terminating due to java.lang.OutOfMemoryError: Java heap space\n"
HUNGRY = {
    "c": "#include <stdlib.h>\n#include <string.h>\n"
    "int main(void) { for (;;) memset(malloc(1 << 20), 1, 1 << 20); }",
    "cpp": "#include <vector>\nint main() { std::vector<int> v; for (;;) v.push_back(1); }",
    "java": "class Main { public static void main(String[] a) {"
    " var l = new java.util.ArrayList<int[]>(); for (;;) l.add(new int[1 << 18]); } }",
    "javascript": "const l = []; for (;;) l.push(new Array(1000).fill(Math.random()));",
    "python3": "l = []\nwhile True: l.append(bytearray(1 << 20))",
}
RECURSIVE = {
    "c": "int f(int n) { volatile char c[64]; c[0] = 0; return n ? c[0] + f(n - 1) : 0; }"
    "int main(void) { return f(300000); }",
    "java": "class Main { static int f(int n) { return n == 0 ? 0 : f(n - 1); }"
    " public static void main(String[] a) { System.exit(f(300000)); } }",
    "javascript": "const f = (n) => n ? f(n - 1) + 0 : 0; process.exit(f(300000));",
    "python3": "import sys\nsys.setrecursionlimit(10**6)\n"
    "def f(n): return f(n - 1) if n else 0\nsys.exit(f(100000))",
}


@pytest.mark.parametrize("language", LANGUAGES)
async def test_the_self_test_passes(workshop: OpenWorkshop, language: str) -> None:
    async with workshop(language) as shop:
        result = await self_test(shop.boxes, shop.toolchain, shop.place.parent)
        assert result.problem == ""


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_starter_template_compiles_and_runs(
    workshop: OpenWorkshop, language: str
) -> None:
    async with workshop(language) as shop:
        built = await shop.build(shop.toolchain.language.template)
        report = await shop.run(built, LIMITS)
    assert report.status is Status.OK


@pytest.mark.parametrize("memory_mb", [64, 256])
@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_memory_bomb_reaches_the_memory_limit(
    workshop: OpenWorkshop, language: str, memory_mb: int
) -> None:
    async with workshop(language) as shop:
        built = await shop.build(HUNGRY[language])
        report = await shop.run(built, replace(LIMITS, memory_bytes=memory_mb * MIB))
        extra = shop.toolchain.language.run.extra_memory_bytes
    assert report.status is Status.MEMORY_LIMIT
    assert report.memory_bytes < memory_mb * MIB + extra + 8 * MIB


@pytest.mark.parametrize("language", sorted(RECURSIVE))
async def test_deep_recursion_works(workshop: OpenWorkshop, language: str) -> None:
    async with workshop(language) as shop:
        report = await shop.run(await shop.build(RECURSIVE[language]), LIMITS)
    assert report.status is Status.OK, report.stderr[-500:]


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_small_limit_is_enough_for_a_small_program(
    workshop: OpenWorkshop, language: str
) -> None:
    async with workshop(language) as shop:
        built = await shop.build(shop.toolchain.language.test.source)
        stdin = shop.toolchain.language.test.stdin.encode()
        report = await shop.run(built, replace(LIMITS, memory_bytes=32 * MIB), stdin)
    assert report.status is Status.OK, report.stderr


async def test_a_refused_call_is_named(workshop: OpenWorkshop) -> None:
    async with workshop("python3") as shop:
        report = await shop.run(await shop.build("import socket; socket.socket()"), LIMITS)
    assert report.status is Status.FORBIDDEN_SYSCALL
    assert report.syscall == "socket"


async def test_java_has_no_network_and_says_so(workshop: OpenWorkshop) -> None:
    text = (
        "class Main { public static void main(String[] a) throws Exception {"
        ' new java.net.Socket("127.0.0.1", 80); } }'
    )
    async with workshop("java") as shop:
        report = await shop.run(await shop.build(text), LIMITS)
    assert report.status is Status.NONZERO_EXIT
    assert b"Permission denied" in report.stderr


@pytest.mark.parametrize("language", ["javascript", "python3"])
async def test_a_program_cannot_start_another(workshop: OpenWorkshop, language: str) -> None:
    text = {
        "javascript": "require('child_process').execSync('true')",
        "python3": "import os; os.execv('/bin/true', ['true'])",
    }
    async with workshop(language) as shop:
        report = await shop.run(await shop.build(text[language]), LIMITS)
    assert report.status is Status.FORBIDDEN_SYSCALL


def test_the_runtimes_own_needs_come_on_top_of_the_limits() -> None:
    java = load_catalogue().named("java").run
    limits = box_limits(java, Limits(memory_bytes=64 * MIB, processes=10))
    assert limits.memory_bytes == 64 * MIB + java.extra_memory_bytes
    assert limits.processes == 10 + java.extra_processes


@pytest.mark.parametrize(
    ("status", "stderr", "settled"),
    [
        (Status.NONZERO_EXIT, FULL_HEAP, Status.MEMORY_LIMIT),
        (Status.SIGNALLED, FULL_HEAP, Status.MEMORY_LIMIT),
        (Status.NONZERO_EXIT, b"another error", Status.NONZERO_EXIT),
        (Status.NONZERO_EXIT, b"OutOfMemoryError: no more threads", Status.NONZERO_EXIT),
        (Status.OK, FULL_HEAP, Status.OK),
        (Status.TIME_LIMIT, FULL_HEAP, Status.TIME_LIMIT),
    ],
)
def test_a_full_heap_is_the_memory_limit_only_for_a_failed_run(
    status: Status, stderr: bytes, settled: Status
) -> None:
    step = load_catalogue().named("java").run
    assert settle_memory(step, Report(status), stderr).status is settled


def test_a_tail_passes_all_on_and_keeps_the_end() -> None:
    passed: list[bytes] = []
    tail = Tail(passed.append)
    for _ in range(100):
        tail(b"x" * 1000)
    tail(b"end")
    assert sum(map(len, passed)) == 100_003
    assert tail.kept.endswith(b"xend")
    assert len(tail.kept) == 16_384
