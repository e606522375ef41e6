"""A program is built once, whoever asks for it, and whatever happens to what was kept."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from deemster.domain.limits import MIB, Limits
from deemster.domain.run_status import RunStatus
from deemster.domain.source import Source, single_file
from deemster.pipeline.judge.build.compile import Build
from deemster.pipeline.judge.build.compiler import ERROR_LIFETIME_S, Compiler
from deemster.pipeline.judge.build.languages import load_catalogue
from deemster.pipeline.judge.build.toolchain import Missing, Toolchain, Toolchains
from deemster.pipeline.judge.execute import execute
from deemster.sandbox.boxes import Boxes
from deemster.settings import Settings
from deemster.wiring.judging import open_boxes, open_compiler
from tests.waiting import PATIENCE_S, until

HELLO = b'#include <stdio.h>\nint main(void) { puts("hello"); }\n'
WRONG = b"int main(void) { return x; }\n"


@dataclass(frozen=True, slots=True)
class Bench:
    settings: Settings
    boxes: Boxes
    compiler: Compiler
    toolchain: Toolchain

    async def build(self, content: bytes, limits: Limits | None = None) -> Build:
        """Built and let go; what it says stays true, its directory may be gone."""
        source = single_file(self.toolchain.language, "program", content)
        async with self.compiler.built(
            self.boxes, self.toolchain, source, limits=limits
        ) as build:
            return build

    async def run(self, content: bytes) -> tuple[bool, bytes]:
        source = single_file(self.toolchain.language, "program", content)
        async with self.compiler.built(self.boxes, self.toolchain, source) as build:
            assert build.artifact is not None, build.compilation
            report = await execute(self.boxes, build.artifact, Limits())
            return build.from_cache, report.stdout

    @property
    def entries(self) -> list[Path]:
        return list((self.settings.data_dir / "compiled" / "entries").iterdir())


@asynccontextmanager
async def bench(
    tmp_path: Path, language: str = "c", *, cache_mb: int = 64, slots: int = 1
) -> AsyncIterator[Bench]:
    runner = Path(os.environ["DEEMSTER_RUNNER"]) if "DEEMSTER_RUNNER" in os.environ else None
    settings = Settings(
        data_dir=tmp_path / "data",
        work_dir=tmp_path / "work",
        compile_cache_mb=cache_mb,
        runner=runner,
    )
    found = await Toolchains().find(load_catalogue().named(language))
    if isinstance(found, Missing):
        pytest.skip(found.reason)
    async with (
        open_boxes(settings, [found], slots=slots) as boxes,
        open_compiler(settings, prepare=False) as compiler,
    ):
        yield Bench(settings, boxes, compiler, found)
    assert not settings.work_dir.exists() or not any(settings.work_dir.iterdir())


async def test_a_second_build_comes_from_the_disk(tmp_path: Path) -> None:
    async with bench(tmp_path) as at:
        first = await at.build(HELLO)
        again = await at.build(HELLO)
        assert await at.run(HELLO) == (True, b"hello\n")
    assert not first.from_cache
    assert again.from_cache
    assert again.compilation == first.compilation
    async with bench(tmp_path) as at:  # as another process would
        assert await at.run(HELLO) == (True, b"hello\n")


async def test_what_differs_is_built_for_itself(tmp_path: Path) -> None:
    async with bench(tmp_path) as at:
        await at.build(HELLO)
        step = at.toolchain.language.compile
        assert step is not None
        more = replace(step.limits, memory_bytes=step.limits.memory_bytes + MIB)
        flagged = replace(
            at.toolchain,
            language=replace(
                at.toolchain.language, compile=replace(step, argv=(*step.argv, "-g"))
            ),
        )
        sources = [
            Source({"other.c": HELLO}),
            Source({"main.c": HELLO + b"\n"}),
            Source({"main.c": HELLO, "empty.h": b""}),
            Source({"main.c": HELLO, "empty.h": b""}, main="main.c"),
        ]
        builds = [await at.build(HELLO, limits=more)]
        for source in sources:
            async with at.compiler.built(at.boxes, at.toolchain, source) as build:
                builds.append(build)
        for toolchain in (flagged, replace(at.toolchain, version="another")):
            source = single_file(at.toolchain.language, "program", HELLO)
            async with at.compiler.built(at.boxes, toolchain, source) as build:
                builds.append(build)
    assert [build.from_cache for build in builds] == [False] * len(builds)


async def test_fifty_equal_submissions_at_once_are_compiled_once(tmp_path: Path) -> None:
    async with bench(tmp_path, slots=2) as at, asyncio.TaskGroup() as group:
        runs = [group.create_task(at.run(HELLO)) for _ in range(50)]
    done = [run.result() for run in runs]
    assert sorted(done) == [(False, b"hello\n")] + [(True, b"hello\n")] * 49


async def test_when_the_one_who_compiles_is_cancelled_another_does_it(tmp_path: Path) -> None:
    async with bench(tmp_path) as at:
        first = asyncio.ensure_future(at.run(HELLO))
        await until(lambda: any(at.settings.work_dir.glob("*/source/*.c")))
        second = asyncio.ensure_future(at.run(HELLO))
        await asyncio.sleep(0)
        first.cancel()
        assert await second == (False, b"hello\n")
        assert first.cancelled()


async def test_cancelling_at_any_moment_leaves_nothing_half_done(tmp_path: Path) -> None:
    async with bench(tmp_path) as at:
        for patience_s in (0.001, 0.003, 0.01, 0.02, 0.03, 0.05, 0.08, 0.13, 0.2):
            content = HELLO + f"// {patience_s}".encode()
            try:
                async with asyncio.timeout(patience_s):
                    await at.run(content)
            except TimeoutError:
                pass
            assert (await at.run(content))[1] == b"hello\n"
            assert await at.run(content) == (True, b"hello\n")


async def test_a_compile_error_is_remembered_for_a_while(tmp_path: Path) -> None:
    async with bench(tmp_path) as at:
        first, again = await at.build(WRONG), await at.build(WRONG)
        assert (first.artifact, again.artifact) == (None, None)
        assert again.from_cache
        assert again.compilation == first.compilation
        (entry,) = at.entries
        before = entry.stat().st_mtime - ERROR_LIFETIME_S - 1
        os.utime(entry / "manifest", (before, before))
        assert not (await at.build(WRONG)).from_cache
        assert (await at.build(WRONG)).from_cache


async def test_a_limit_that_was_reached_is_not_remembered(tmp_path: Path) -> None:
    bomb = b"#define A B B B B\n#define B C C C C\n#define C D D D D\n#define D E E E E\n"
    bomb += b"#define E F F F F\n#define F G G G G\n#define G H H H H\n#define H x;x;x;x;\n"
    bomb += b"int main(void) { int x; A A A A A A A A A A }"
    async with bench(tmp_path) as at:
        short = Limits(cpu_ms=200, memory_bytes=1024 * MIB)
        first, again = await at.build(bomb, short), await at.build(bomb, short)
        assert first.compilation is not None
        assert first.compilation.status is RunStatus.TIME_LIMIT
        assert not again.from_cache
        assert at.entries == []


async def test_who_waits_shares_even_an_error_that_is_not_remembered(tmp_path: Path) -> None:
    """Otherwise fifty copies of a compiler bomb would go off one after the other."""
    bomb = b'#include "/dev/zero"\n'
    async with bench(tmp_path) as at, asyncio.TaskGroup() as group:
        runs = [group.create_task(at.build(bomb)) for _ in range(50)]
    assert len({id(run.result().compilation) for run in runs}) == 1


async def test_a_tampered_entry_is_compiled_again(tmp_path: Path) -> None:
    async with bench(tmp_path) as at:
        await at.build(HELLO)
        (entry,) = at.entries
        program = entry / "files" / "program"
        content = program.read_bytes().replace(b"hello", b"tampr")
        program.write_bytes(content)
        assert await at.run(HELLO) == (False, b"hello\n")
        assert await at.run(HELLO) == (True, b"hello\n")


async def test_what_runs_stays_while_the_cache_is_emptied_around_it(tmp_path: Path) -> None:
    async with bench(tmp_path, cache_mb=4) as at:
        await at.build(HELLO)
        source = single_file(at.toolchain.language, "program", HELLO)
        async with at.compiler.built(at.boxes, at.toolchain, source) as build:
            assert build.from_cache
            assert build.artifact is not None
            for number in range(8):
                await at.build(HELLO + f"// {number}".encode())
            report = await execute(at.boxes, build.artifact, Limits())
        assert report.stdout == b"hello\n"
        kept = sum(path.stat().st_size for entry in at.entries for path in entry.rglob("*"))
        assert kept < 4 * MIB


async def test_a_full_disk_is_said_once_and_costs_only_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with bench(tmp_path) as at:
        filling = at.settings.data_dir / "compiled" / "filling"
        filling.rmdir()
        filling.touch()  # nothing can be made in it, also not by root
        for _ in range(3):
            assert await at.run(HELLO) == (False, b"hello\n")
    said = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(said) == 1
    assert "can't be cached" in said[0].getMessage()


async def test_without_a_place_for_it_programs_are_built_all_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "data").touch()
    async with bench(tmp_path) as at:
        assert await at.run(HELLO) == (False, b"hello\n")
        assert await at.run(HELLO) == (False, b"hello\n")
    assert f"can't be cached in {tmp_path / 'data'}" in caplog.text


async def test_a_cache_of_nothing_keeps_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path, cache_mb=0) as at:
        for _ in range(2):
            assert await at.run(HELLO) == (False, b"hello\n")
    assert not (tmp_path / "data" / "compiled").exists()


async def test_sources_that_are_only_checked_are_not_written_to_the_disk(
    tmp_path: Path,
) -> None:
    secret = b"print('hello')  # a word that only the author knows: xyzzy"
    async with bench(tmp_path, "python3") as at:
        assert await at.run(secret) == (False, b"hello\n")
        assert await at.run(secret) == (True, b"hello\n")
    kept = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert kept
    assert not any(b"xyzzy" in path.read_bytes() for path in kept)


async def test_java_comes_back_with_its_entry(tmp_path: Path) -> None:
    text = b"package a.b; public class Deep { static class In { } "
    text += b'public static void main(String[] a) { System.out.println("hello"); } }'
    async with bench(tmp_path, "java") as at:
        assert await at.run(text) == (False, b"hello\n")
        assert await at.run(text) == (True, b"hello\n")


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


def test_two_processes_build_the_same_at_once(tmp_path: Path) -> None:
    file = tmp_path / "hello.c"
    for number in range(3):
        file.write_bytes(HELLO + f"// {number}".encode())
        with start(tmp_path, file) as one, start(tmp_path, file) as two:
            for process in (one, two):
                said, _ = process.communicate(timeout=PATIENCE_S)
                assert (process.returncode, said) == (0, b"hello\n")
    entries = tmp_path / "data" / "compiled" / "entries"
    assert len(list(entries.iterdir())) == 3


async def test_a_killed_process_leaves_nothing_that_harms(tmp_path: Path) -> None:
    """J8: and what it left is swept by the next."""
    file = tmp_path / "hello.c"
    file.write_bytes(HELLO)
    with start(tmp_path, file) as process:
        await until(lambda: any((tmp_path / "work").glob("*/source/*.c")))
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE_S)
    async with bench(tmp_path) as at:
        assert await at.run(HELLO) == (False, b"hello\n")
    assert not any((tmp_path / "data" / "compiled" / "filling").iterdir())
