"""A program is built once, and the cache of builds survives faults."""

import asyncio
import fcntl
import logging
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from deemster.domain.limits import MIB, Limits
from deemster.domain.run_status import RunStatus
from deemster.domain.source import Source, single_file
from deemster.locks import lock_current
from deemster.programs.build import cached_compiler, recent_builds
from deemster.programs.build.cache import DirectoryCache
from deemster.programs.build.cached_compiler import (
    ERROR_LIFETIME_S,
    CachedBuild,
    CachedCompiler,
)
from deemster.programs.build.compile import Build, run_request
from deemster.programs.build.languages import load_catalogue
from deemster.programs.build.toolchain import Missing, Toolchain
from deemster.programs.execute import execute
from deemster.sandbox.boxes import Boxes
from deemster.settings import Settings
from deemster.wiring.judging import open_boxes, open_compiler
from tests.toolchains import TOOLCHAINS
from tests.waiting import PATIENCE_S, until

HELLO = b'#include <stdio.h>\nint main(void) { puts("hello"); }\n'
WRONG = b"int main(void) { return x; }\n"


@dataclass(frozen=True, slots=True)
class CompilerSetup:
    settings: Settings
    boxes: Boxes
    compiler: CachedCompiler
    toolchain: Toolchain

    async def build(self, content: bytes, limits: Limits | None = None) -> Build:
        """The directory of the returned build may be gone."""
        source = single_file(self.toolchain.language, "program", content)
        async with self.compiler.built(
            self.boxes, self.toolchain, source, limits=limits
        ) as build:
            return build

    async def run(self, content: bytes) -> tuple[bool, bytes]:
        source = single_file(self.toolchain.language, "program", content)
        async with self.compiler.built(self.boxes, self.toolchain, source) as build:
            assert build.program is not None, build.compilation
            report = await execute(self.boxes, build.program, Limits())
            return build.from_cache, report.stdout

    @property
    def entries(self) -> list[Path]:
        return list((self.settings.data_dir / "compiled" / "entries").iterdir())


@asynccontextmanager
async def open_setup(
    tmp_path: Path, language: str = "c", *, cache_mb: int = 64, slots: int = 1
) -> AsyncIterator[CompilerSetup]:
    runner = Path(os.environ["DEEMSTER_RUNNER"]) if "DEEMSTER_RUNNER" in os.environ else None
    settings = Settings(
        data_dir=tmp_path / "data",
        work_dir=tmp_path / "work",
        compile_cache_mb=cache_mb,
        runner=runner,
    )
    found = await TOOLCHAINS.find(load_catalogue().named(language))
    if isinstance(found, Missing):
        pytest.skip(found.reason)
    async with (
        open_boxes(settings, [found], slots=slots) as boxes,
        open_compiler(settings, precompile_on_demand=False) as compiler,
    ):
        yield CompilerSetup(settings, boxes, compiler, found)
    assert not settings.work_dir.exists() or not any(settings.work_dir.iterdir())


async def test_a_second_build_comes_from_the_cache(tmp_path: Path) -> None:
    async with open_setup(tmp_path) as setup:
        first = await setup.build(HELLO)
        again = await setup.build(HELLO)
        assert await setup.run(HELLO) == (True, b"hello\n")
    assert not first.from_cache
    assert again.from_cache
    assert again.compilation == first.compilation
    async with open_setup(tmp_path) as setup:  # like another process
        assert await setup.run(HELLO) == (True, b"hello\n")


async def test_another_source_flag_or_compiler_is_built_separately(tmp_path: Path) -> None:
    async with open_setup(tmp_path) as setup:
        await setup.build(HELLO)
        step = setup.toolchain.language.compile
        assert step is not None
        more = replace(step.limits, memory_bytes=step.limits.memory_bytes + MIB)
        flagged = replace(
            setup.toolchain,
            language=replace(
                setup.toolchain.language, compile=replace(step, argv=(*step.argv, "-g"))
            ),
        )
        sources = [
            Source({"other.c": HELLO}),
            Source({"main.c": HELLO + b"\n"}),
            Source({"main.c": HELLO, "empty.h": b""}),
            Source({"main.c": HELLO, "empty.h": b""}, main="main.c"),
        ]
        builds = [await setup.build(HELLO, limits=more)]
        for source in sources:
            async with setup.compiler.built(setup.boxes, setup.toolchain, source) as build:
                builds.append(build)
        for toolchain in (flagged, replace(setup.toolchain, version="another")):
            source = single_file(setup.toolchain.language, "program", HELLO)
            async with setup.compiler.built(setup.boxes, toolchain, source) as build:
                builds.append(build)
    assert [build.from_cache for build in builds] == [False] * len(builds)


async def test_fifty_equal_submissions_at_once_are_compiled_once(tmp_path: Path) -> None:
    async with open_setup(tmp_path, slots=2) as setup, asyncio.TaskGroup() as group:
        runs = [group.create_task(setup.run(HELLO)) for _ in range(50)]
    done = [run.result() for run in runs]
    assert sorted(done) == [(False, b"hello\n")] + [(True, b"hello\n")] * 49


async def test_a_waiting_caller_compiles_if_the_first_is_cancelled(tmp_path: Path) -> None:
    async with open_setup(tmp_path) as setup:
        first = asyncio.ensure_future(setup.run(HELLO))
        await until(lambda: any(setup.settings.work_dir.glob("*/source/*.c")))
        second = asyncio.ensure_future(setup.run(HELLO))
        await asyncio.sleep(0)
        first.cancel()
        assert await second == (False, b"hello\n")
        assert first.cancelled()


async def test_cancelling_at_any_moment_leaves_no_incomplete_entry(tmp_path: Path) -> None:
    async with open_setup(tmp_path) as setup:
        for timeout_s in (0.001, 0.003, 0.01, 0.02, 0.03, 0.05, 0.08, 0.13, 0.2):
            content = HELLO + f"// {timeout_s}".encode()
            try:
                async with asyncio.timeout(timeout_s):
                    await setup.run(content)
            except TimeoutError:
                pass
            assert (await setup.run(content))[1] == b"hello\n"
            assert await setup.run(content) == (True, b"hello\n")


async def test_a_compile_error_is_cached_for_a_limited_time(tmp_path: Path) -> None:
    async with open_setup(tmp_path) as setup:
        first, again = await setup.build(WRONG), await setup.build(WRONG)
        assert (first.program, again.program) == (None, None)
        assert again.from_cache
        assert again.compilation == first.compilation
        (entry,) = setup.entries
        before = entry.stat().st_mtime - ERROR_LIFETIME_S - 1
        os.utime(entry / "manifest", (before, before))
        assert not (await setup.build(WRONG)).from_cache
        assert (await setup.build(WRONG)).from_cache


async def test_a_compilation_that_hit_a_limit_is_not_cached(tmp_path: Path) -> None:
    bomb = b"#define A B B B B\n#define B C C C C\n#define C D D D D\n#define D E E E E\n"
    bomb += b"#define E F F F F\n#define F G G G G\n#define G H H H H\n#define H x;x;x;x;\n"
    bomb += b"int main(void) { int x; A A A A A A A A A A }"
    async with open_setup(tmp_path) as setup:
        short = Limits(cpu_ms=200, memory_bytes=1024 * MIB)
        first, again = await setup.build(bomb, short), await setup.build(bomb, short)
        assert first.compilation is not None
        assert first.compilation.status is RunStatus.TIME_LIMIT
        assert not again.from_cache
        assert setup.entries == []


async def test_waiting_callers_share_an_error_that_is_not_cached(tmp_path: Path) -> None:
    """Otherwise fifty copies of a compiler bomb would run one after the other."""
    bomb = b'#include "/dev/zero"\n'
    async with open_setup(tmp_path) as setup, asyncio.TaskGroup() as group:
        runs = [group.create_task(setup.build(bomb)) for _ in range(50)]
    assert len({id(run.result().compilation) for run in runs}) == 1


async def test_waiting_callers_do_not_share_an_end_by_the_wall_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one may have compiled in a compile slot, beside executions."""
    statuses = [RunStatus.WALL_LIMIT]

    async def run_late(*arguments: Any) -> Build:
        build = await run_request(*arguments)
        assert build.compilation is not None
        if not statuses:
            return build
        late = replace(build.compilation, status=statuses.pop())
        return replace(build, program=None, compilation=late)

    monkeypatch.setattr(cached_compiler, "run_request", run_late)
    async with open_setup(tmp_path) as setup, asyncio.TaskGroup() as group:
        runs = [group.create_task(setup.build(HELLO)) for _ in range(3)]
    assert [each.result().program is not None for each in runs] == [False, True, True]


async def test_a_tampered_entry_is_compiled_again(tmp_path: Path) -> None:
    async with open_setup(tmp_path) as setup:
        await setup.build(HELLO)
        (entry,) = setup.entries
        program = entry / "files" / "program"
        content = program.read_bytes().replace(b"hello", b"tampr")
        program.write_bytes(content)
        assert await setup.run(HELLO) == (False, b"hello\n")
        assert await setup.run(HELLO) == (True, b"hello\n")


async def test_a_recent_build_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[str] = []

    take = cached_compiler.take_build

    def take_build(cache: DirectoryCache, key: str, *arguments: Any) -> CachedBuild | None:
        reads.append(key)
        return take(cache, key, *arguments)

    monkeypatch.setattr(cached_compiler, "take_build", take_build)
    async with open_setup(tmp_path) as setup:
        assert [(await setup.run(HELLO))[0] for _ in range(4)] == [False, True, True, True]
    assert len(reads) == 2, "once before it was built, and once from the cache"


async def test_a_recent_build_that_was_changed_or_removed_is_made_again(tmp_path: Path) -> None:
    async with open_setup(tmp_path) as setup:
        for _ in range(2):
            await setup.build(HELLO)
        (entry,) = setup.entries
        program = entry / "files" / "program"
        program.write_bytes(program.read_bytes().replace(b"hello", b"tampr"))
        assert await setup.run(HELLO) == (False, b"hello\n")
        assert await setup.run(HELLO) == (True, b"hello\n")
        shutil.rmtree(entry)
        assert await setup.run(HELLO) == (False, b"hello\n")


async def test_few_recent_builds_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent_builds, "MAX_BUILDS", 2)
    async with open_setup(tmp_path) as setup:
        for number in range(4):
            program = HELLO + f"// {number}".encode()
            await setup.build(program)
            assert await setup.run(program) == (True, b"hello\n")
        assert len(setup.entries) == 4
        assert len([entry for entry in setup.entries if is_locked(entry)]) == 2
    assert not any(map(is_locked, setup.entries))


def is_locked(directory: Path) -> bool:
    lock = lock_current(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if lock is not None:
        os.close(lock)
    return lock is None


async def test_a_build_in_use_stays_while_the_cache_evicts_others(tmp_path: Path) -> None:
    async with open_setup(tmp_path, cache_mb=4) as setup:
        await setup.build(HELLO)
        source = single_file(setup.toolchain.language, "program", HELLO)
        async with setup.compiler.built(setup.boxes, setup.toolchain, source) as build:
            assert build.from_cache
            assert build.program is not None
            for number in range(8):
                await setup.build(HELLO + f"// {number}".encode())
            report = await execute(setup.boxes, build.program, Limits())
        assert report.stdout == b"hello\n"
        kept = sum(path.stat().st_size for entry in setup.entries for path in entry.rglob("*"))
        assert kept < 4 * MIB


async def test_a_full_disk_is_logged_once_and_builds_go_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_setup(tmp_path) as setup:
        filling = setup.settings.data_dir / "compiled" / "filling"
        filling.rmdir()
        filling.touch()  # not even root can create a file in it
        for _ in range(3):
            assert await setup.run(HELLO) == (False, b"hello\n")
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "can't be cached" in warnings[0].getMessage()


async def test_programs_are_built_without_a_cache_directory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "data").touch()
    async with open_setup(tmp_path) as setup:
        assert await setup.run(HELLO) == (False, b"hello\n")
        assert await setup.run(HELLO) == (False, b"hello\n")
    assert f"can't be cached in {tmp_path / 'data'}" in caplog.text


async def test_a_cache_of_size_zero_stores_nothing(tmp_path: Path) -> None:
    async with open_setup(tmp_path, cache_mb=0) as setup:
        for _ in range(2):
            assert await setup.run(HELLO) == (False, b"hello\n")
    assert not (tmp_path / "data" / "compiled").exists()


async def test_sources_of_interpreted_programs_are_not_cached(
    tmp_path: Path,
) -> None:
    secret = b"print('hello')  # a word that only the author knows: xyzzy"
    async with open_setup(tmp_path, "python3") as setup:
        assert await setup.run(secret) == (False, b"hello\n")
        assert await setup.run(secret) == (True, b"hello\n")
        assert not any(setup.settings.work_dir.iterdir())
    kept = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert kept
    assert not any(b"xyzzy" in path.read_bytes() for path in kept)


async def test_the_cache_stores_the_entry_point_of_java(tmp_path: Path) -> None:
    text = b"package a.b; public class Deep { static class In { } "
    text += b'public static void main(String[] a) { System.out.println("hello"); } }'
    async with open_setup(tmp_path, "java") as setup:
        assert await setup.run(text) == (False, b"hello\n")
        assert await setup.run(text) == (True, b"hello\n")


# -- processes --


def start(tmp_path: Path, file: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "deemster", "run", str(file)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env={
            **os.environ,
            "DEEMSTER_DATA_DIR": str(tmp_path / "data"),
            "DEEMSTER_WORK_DIR": str(tmp_path / "work"),
        },
    )


@pytest.mark.parametrize("times", [2, pytest.param(10, marks=pytest.mark.soak)])
def test_two_processes_can_build_the_same_program_at_once(tmp_path: Path, times: int) -> None:
    file = tmp_path / "hello.c"
    for number in range(times):
        file.write_bytes(HELLO + f"// {number}".encode())
        with start(tmp_path, file) as one, start(tmp_path, file) as two:
            for process in (one, two):
                output, _ = process.communicate(timeout=PATIENCE_S)
                assert (process.returncode, output) == (0, b"hello\n")
    entries = tmp_path / "data" / "compiled" / "entries"
    assert len(list(entries.iterdir())) == times


async def test_the_next_process_cleans_up_after_a_killed_one(tmp_path: Path) -> None:
    """J8"""
    file = tmp_path / "hello.c"
    file.write_bytes(HELLO)
    with start(tmp_path, file) as process:
        await until(lambda: any((tmp_path / "work").glob("*/source/*.c")))
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE_S)
    async with open_setup(tmp_path) as setup:
        assert await setup.run(HELLO) == (False, b"hello\n")
    assert not any((tmp_path / "data" / "compiled" / "filling").iterdir())
