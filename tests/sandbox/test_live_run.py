"""Runs whose stdin, stdout and stderr are read and written while the program runs (E5)."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from deemster.domain.errors import Refused
from deemster.domain.limits import MIB
from deemster.domain.run_status import RunStatus
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Command
from deemster.sandbox.live_run import LiveChunk, OutputName, StreamedRun
from deemster.sandbox.runner import SandboxFault
from tests.sandbox.conftest import PATIENT, RUNNER, open_files, shell
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.rootless

STDOUT, STDERR = OutputName.STDOUT, OutputName.STDERR


@asynccontextmanager
async def streams(command: Command) -> AsyncIterator[StreamedRun]:
    async with Boxes.open(runner=RUNNER) as boxes, boxes.open_streams(command) as run:
        yield run


async def read_all(run: StreamedRun) -> dict[OutputName, bytes]:
    seen = {STDOUT: b"", STDERR: b""}
    async with asyncio.timeout(PATIENCE_S):
        while chunk := await run.read():
            seen[chunk.stream] += chunk.data
    return seen


async def test_e5_stdout_and_stderr_arrive_apart_while_the_program_runs() -> None:
    script = "echo one; read a; echo $a >&2; read b; echo $b"
    async with streams(shell(script)) as run:
        assert await run.read() == LiveChunk(STDOUT, b"one\n")
        await run.write(b"two\n")
        assert await run.read() == LiveChunk(STDERR, b"two\n")
        await run.write(b"three\n")
        assert await run.read() == LiveChunk(STDOUT, b"three\n")
        assert await run.read() is None
        report = await run.report()
    assert (report.status, report.stdout) == (RunStatus.OK, b"")


async def test_e5_the_input_may_end_before_the_program_starts() -> None:
    async with streams(shell("cat")) as run:
        await run.write(b"early")
        await run.end_input()
        assert (await read_all(run))[STDOUT] == b"early"


async def test_the_input_ends_after_everything_that_was_written() -> None:
    async with streams(shell("cat < /dev/stdin")) as run:
        data = bytes(range(256)) * 8_000  # more than all buffers hold
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(read_all(run))
            await run.write(data)
            await run.end_input()
        await run.end_input()
        await run.write(b"too late")
    assert reading.result()[STDOUT] == data


async def test_input_that_nobody_can_read_is_dropped() -> None:
    async with streams(shell("exec <&-; echo closed; sleep 1000000")) as run:
        assert await run.read() == LiveChunk(STDOUT, b"closed\n")
        await run.write(b"x" * MIB)


async def test_a_writer_that_waits_is_released_at_the_end() -> None:
    async with streams(shell("sleep 1000000")) as run:
        writing = asyncio.create_task(run.write(b"x" * MIB))
        await until(lambda: run._pipes.stdin._waiting is not None)
        run.cancel()
        assert (await run.report()).status is RunStatus.CANCELLED
        await writing


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL, 1, 10, 31])
async def test_a_signal_ends_the_program(number: int) -> None:
    async with streams(shell("echo on; exec sleep 1000000")) as run:
        await run.read()
        run.send_signal(number)
        report = await run.report()
    assert (report.status, report.signal) == (RunStatus.SIGNALLED, number)


async def test_a_signal_reaches_the_whole_process_group() -> None:
    script = "sleep 1000000 & trap 'echo caught' USR1; echo on; wait $!; wait $!; echo woken"
    async with streams(shell(script)) as run:
        await run.read()
        run.send_signal(signal.SIGUSR1)
        assert (await read_all(run))[STDOUT] == b"caught\nwoken\n"


async def test_a_stopped_program_can_be_continued() -> None:
    async with streams(shell("echo on; while read a; do echo $a; done")) as run:
        await run.read()
        run.send_signal(signal.SIGSTOP)
        await run.write(b"one\n")
        run.send_signal(signal.SIGCONT)
        assert await run.read() == LiveChunk(STDOUT, b"one\n")


@pytest.mark.parametrize("number", [-1, 0, 32, 64, 255])
async def test_other_signals_are_refused(number: int) -> None:
    async with streams(shell("sleep 1000000")) as run:
        with pytest.raises(Refused):
            run.send_signal(number)


async def test_a_signal_before_the_start_reaches_the_program() -> None:
    async with Boxes.open(runner=RUNNER) as boxes:
        staged, go = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def stage(_: object) -> None:
            loop.call_soon_threadsafe(staged.set)
            asyncio.run_coroutine_threadsafe(go.wait(), loop).result()

        async with boxes.open_streams(shell("sleep 1000000"), stage=stage) as run:
            await staged.wait()
            run.send_signal(signal.SIGKILL)
            go.set()
            assert (await run.report()).signal == signal.SIGKILL


@pytest.mark.parametrize("staged", [False, True])
async def test_a_run_can_be_cancelled_before_its_start(staged: bool) -> None:
    async with Boxes.open(runner=RUNNER) as boxes:
        stage = (lambda _: None) if staged else None
        async with boxes.open_streams(shell("sleep 1000000"), stage=stage) as run:
            run.cancel()
            assert (await run.report()).status is RunStatus.CANCELLED


async def test_a_flood_of_signals_does_not_harm_the_run() -> None:
    """X7: the instruction to cancel still reaches the run."""
    async with streams(shell("trap '' USR1; echo on; sleep 1000000")) as run:
        await run.read()
        for _ in range(20_000):
            run.send_signal(signal.SIGUSR1)
        run.cancel()
        assert (await run.report()).status is RunStatus.CANCELLED


async def test_a_signal_after_the_end_does_not_reach_the_next_program() -> None:
    async with Boxes.open(runner=RUNNER) as boxes:
        for _ in range(20):
            async with boxes.open_streams(shell("true"), collect=lambda _: None) as run:
                while not run.ended:
                    run.send_signal(signal.SIGUSR1)
                    await asyncio.sleep(0)
            assert (await boxes.run(shell("echo fine"))).stdout == b"fine\n"


async def test_each_stream_has_the_output_limit() -> None:
    limits = replace(PATIENT, output_bytes=MIB)
    async with streams(shell("head -c 1M /dev/zero; cat /dev/zero >&2", limits)) as run:
        seen = await read_all(run)
        report = await run.report()
    assert {name: len(data) for name, data in seen.items()} == {STDOUT: MIB, STDERR: MIB}
    assert report.status is RunStatus.OUTPUT_LIMIT
    assert (report.stdout_truncated, report.stderr_truncated) == (False, True)


async def test_leaving_the_block_closes_every_pipe() -> None:
    async with Boxes.open(runner=RUNNER) as boxes:
        await boxes.run(shell("true"))
        files = open_files()
        async with boxes.open_streams(shell("echo on; sleep 1000000")) as run:
            await run.read()
        with pytest.raises(KeyError):
            async with boxes.open_streams(shell("sleep 1000000")):
                raise KeyError
        assert (await boxes.run(shell("echo still"))).stdout == b"still\n"
        assert open_files() == files


@pytest.mark.parametrize("is_terminal", [False, True])
async def test_e8_a_runner_that_dies_before_the_start_ends_the_streams(
    tmp_path: Path, is_terminal: bool
) -> None:
    """Else, whoever waits for output would wait until the end of the wall time."""
    command = replace(shell("sleep 1000000"), code=tmp_path)
    async with Boxes.open(runner=RUNNER) as boxes:

        async def wait_for_output() -> None:
            open_run = boxes.open_terminal if is_terminal else boxes.open_streams
            async with asyncio.timeout(PATIENCE_S), open_run(command) as run:
                os.kill(boxes.runner_pid, signal.SIGKILL)  # before it was asked for /code
                assert not await run.read()
                await run.report()

        with pytest.raises(SandboxFault):
            await wait_for_output()
