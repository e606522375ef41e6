"""Runs on a terminal: what the program sees, what the caller can type, and how runs end (E7).

Run as a program, this module opens a terminal, prints its number and waits to be killed.
"""

import asyncio
import fcntl
import hashlib
import os
import resource
import signal
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from deemster.domain.errors import Refused, Unavailable
from deemster.domain.limits import MIB
from deemster.domain.run_status import RunStatus
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Command, Layers
from deemster.sandbox.terminal import DEFAULT_SIZE, TerminalRun, TerminalSize
from tests.sandbox.conftest import (
    PATIENT,
    RUNNER,
    SLOWNESS,
    RunnerTree,
    assert_gone,
    is_gone,
    open_files,
    shell,
)
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.rootless

TIOCGPTN = 0x80045430
FLOOD = ("/bin/cat", "/dev/zero")
RAW = "stty raw -echo -isig; echo raw; "


def python(script: str) -> Command:
    return Command(("/usr/bin/python3", "-c", script), limits=PATIENT)


@asynccontextmanager
async def terminal(
    command: Command, size: TerminalSize = DEFAULT_SIZE, layers: Layers = Layers.ALL
) -> AsyncIterator[TerminalRun]:
    async with (
        Boxes.open(runner=RUNNER, layers=layers) as boxes,
        boxes.open_terminal(command, size) as run,
    ):
        yield run


async def read_until(run: TerminalRun, wanted: bytes) -> bytes:
    """Reads chunks until the output has these bytes."""
    seen = b""
    async with asyncio.timeout(PATIENCE_S):
        while wanted not in seen:
            chunk = await run.read()
            assert chunk, f"the output ended: {seen!r}"
            seen += chunk
    return seen


async def read_all(run: TerminalRun) -> bytes:
    seen = b""
    async with asyncio.timeout(PATIENCE_S):
        while chunk := await run.read():
            seen += chunk
    return seen


def pair_identity(master: int) -> tuple[Path, int]:
    """Returns the path of a terminal, and the time at which it was made."""
    number = struct.unpack("=I", fcntl.ioctl(master, TIOCGPTN, bytes(4)))[0]
    path = Path(f"/dev/pts/{number}")
    return path, path.stat().st_ctime_ns


def open_masters() -> list[str]:
    """Returns the masters of terminals that this process has open."""
    paths = [os.path.realpath(fd) for fd in Path("/proc/self/fd").iterdir()]
    return [path for path in paths if path.endswith("/ptmx")]


async def test_a_program_sees_a_terminal_of_the_given_size() -> None:
    script = (
        "import os; print(*map(os.isatty, range(3)), os.get_terminal_size(),"
        " os.getsid(0) == os.getpid() == os.tcgetpgrp(0), os.environ['TERM'])"
    )
    async with terminal(python(script), TerminalSize(30, 100)) as run:
        seen = await read_all(run)
        report = await run.report()
    size = "os.terminal_size(columns=100, lines=30)"
    assert seen.decode() == f"True True True {size} True xterm-256color\r\n"
    assert report.status is RunStatus.OK


async def test_e7_a_prompt_appears_before_the_answer_is_typed() -> None:
    """C's and Python's output is buffered by blocks on a pipe, by lines on a terminal."""
    async with terminal(python("print('hello', input('name? '))")) as run:
        assert await read_until(run, b"name? ") == b"name? "
        await run.write("Zoë\n".encode())
        assert (await read_all(run)).decode() == "Zoë\r\nhello Zoë\r\n"


async def test_standard_streams_can_be_opened_by_name() -> None:
    script = "read line < /dev/stdin; echo $line > /dev/stderr; echo out > /dev/stdout"
    async with terminal(shell(script)) as run:
        await run.write(b"typed\n")
        seen = await read_all(run)
        assert (await run.report()).status is RunStatus.OK
    assert seen.endswith(b"typed\r\nout\r\n")


@pytest.mark.parametrize("typed", [b"", b"line\n", b"part of a line"])
async def test_the_input_can_be_ended(typed: bytes) -> None:
    script = "import sys; print(repr(sys.stdin.read()))"
    async with terminal(python(script)) as run:
        await run.write(typed)
        await run.end_input()
        seen = await read_all(run)
        assert (await run.report()).status is RunStatus.OK
    assert seen.decode().endswith(f"{typed.decode()!r}\r\n")


async def test_everything_that_is_typed_arrives_in_order() -> None:
    """Much more than the kernel's buffers hold: the writer waits for the program."""
    lines = b"".join(b"%d\n" % number for number in range(30_000))
    script = "stty -echo; echo ready; exec md5sum"
    async with terminal(shell(script)) as run:
        await read_until(run, b"ready")
        await run.write(lines)
        await run.end_input()
        seen = await read_all(run)
    assert hashlib.md5(lines).hexdigest().encode() in seen


@pytest.mark.parametrize(
    "press",
    [TerminalRun.interrupt, lambda run: run.write(b"\x03")],
    ids=["out of band", "as a key"],
)
async def test_ctrl_c_interrupts_the_program(
    press: Callable[[TerminalRun], Awaitable[None]],
) -> None:
    script = """
import time
try:
    print("on")
    time.sleep(1e6)
except KeyboardInterrupt:
    print("off")
"""
    async with terminal(python(script)) as run:
        await read_until(run, b"on")
        await press(run)
        assert (await read_all(run)).endswith(b"off\r\n")


async def test_ctrl_c_overtakes_input_that_nobody_reads() -> None:
    async with terminal(shell("stty -echo; echo on; sleep 1000000")) as run:
        await read_until(run, b"on")
        typing = asyncio.create_task(run.write(b"never read\n" * 100_000))
        try:
            await until(lambda: run._terminal.input._waiting is not None)
            await run.interrupt()
            report = await run.report()
            await typing  # the rest is dropped
        finally:
            typing.cancel()
    assert (report.status, report.signal) == (RunStatus.SIGNALLED, signal.SIGINT)


async def test_a_program_without_signals_reads_ctrl_c() -> None:
    script = RAW + "head -c 1 | od -An -tx1"
    async with terminal(shell(script)) as run:
        await read_until(run, b"raw")
        await run.interrupt()
        assert b"03" in await read_all(run)


async def test_a_new_window_size_reaches_the_program() -> None:
    script = "trap 'stty size; exit' WINCH; echo on; while :; do sleep 0.01; done"
    async with terminal(shell(script)) as run:
        await read_until(run, b"on")
        run.resize(50, 132)
        assert (await read_all(run)).endswith(b"50 132\r\n")
        with pytest.raises(Refused):
            run.resize(0, 80)


async def test_a_signal_reaches_the_program() -> None:
    async with terminal(shell("echo on; exec sleep 1000000")) as run:
        await read_until(run, b"on")
        run.send_signal(signal.SIGUSR1)
        report = await run.report()
        run.send_signal(signal.SIGUSR1)  # after the end: ignored
    assert (report.status, report.signal) == (RunStatus.SIGNALLED, signal.SIGUSR1)


async def test_shells_have_job_control() -> None:
    argv = ("/bin/bash", "--norc", "--noediting", "-i")
    async with terminal(Command(argv, limits=PATIENT, profile="compiler")) as run:
        await run.write(b"sh -c 'echo re\"\"ady; exec sleep 1000000'\n")
        await read_until(run, b"ready")
        await run.write(b"\x1a")
        await read_until(run, b"Stopped")
        await run.write(b"disown; exit 7\n")
        await read_all(run)
        assert (await run.report()).exit_code == 7


async def test_a_flood_ends_at_the_output_limit() -> None:
    command = Command(FLOOD, limits=replace(PATIENT, output_bytes=3 * MIB + 1))
    async with terminal(command) as run:
        seen = await read_all(run)
        report = await run.report()
    assert len(seen) == 3 * MIB + 1
    assert report.status is RunStatus.OUTPUT_LIMIT
    assert report.stdout_truncated


async def test_what_is_left_at_the_end_counts_for_the_output_limit() -> None:
    command = Command(("/bin/echo", "0123456789"), limits=replace(PATIENT, output_bytes=5))
    async with terminal(command) as run:
        report = await run.report()
        assert await read_all(run) == b"01234"
    assert report.status is RunStatus.OUTPUT_LIMIT


async def test_a_flood_waits_for_its_reader() -> None:
    """Nobody reads: neither Python's memory nor the program's output grows."""
    limits = replace(PATIENT, wall_ms=2_000 * SLOWNESS, output_bytes=1 << 40)
    async with Boxes.open(runner=RUNNER) as boxes:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        async with boxes.open_terminal(Command(FLOOD, limits=limits)) as run:
            report = await run.report()
            assert len(await read_all(run)) < MIB
        grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert report.status is RunStatus.WALL_LIMIT
    assert report.cpu_ns < report.wall_ns / 2
    assert grown_kib < 16 * 1024


async def test_a_flood_does_not_starve_other_tasks() -> None:
    limits = replace(PATIENT, output_bytes=16 * MIB)
    turns = chunks = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with terminal(Command(FLOOD, limits=limits)) as run:
        other = asyncio.create_task(count_turns())
        while chunk := await run.read():
            assert len(chunk) <= 64 * 1024
            chunks += 1
        other.cancel()
    assert turns >= chunks > 16


@pytest.mark.parametrize("layers", [Layers.ALL, Layers(0)], ids=["all layers", "no layers"])
async def test_a_program_that_ignores_everything_can_be_cancelled(layers: Layers) -> None:
    script = "trap '' INT HUP TERM QUIT TSTP; " + RAW + "while :; do sleep 1000; done"
    async with terminal(shell(script), layers=layers) as run:
        await read_until(run, b"raw")
        await run.interrupt()
        await run.end_input()
        run.cancel()
        assert (await run.report()).status is RunStatus.CANCELLED
        await run.write(b"too late")
        await run.interrupt()
        await run.end_input()
        run.resize(1, 1)
        run.cancel()


async def test_the_wall_limit_ends_a_raw_program() -> None:
    command = shell(RAW + "exec sleep 1000", replace(PATIENT, wall_ms=1_000))
    async with terminal(command) as run:
        assert (await run.report()).status is RunStatus.WALL_LIMIT


async def test_leaving_the_block_ends_the_program_and_frees_the_box() -> None:
    async with Boxes.open(runner=RUNNER) as boxes:
        files = open_files()
        async with boxes.open_terminal(shell("echo on; sleep 1000000")) as run:
            await read_until(run, b"on")
        assert (await run.report()).status is RunStatus.CANCELLED
        assert open_files() == files
        with pytest.raises(KeyError):
            async with boxes.open_terminal(shell("sleep 1000000")):
                raise KeyError
        assert (await boxes.run(shell("tty"))).stdout == b"not a tty\n"
        assert open_files() == files


async def test_terminals_cancelled_at_any_moment_leave_nothing() -> None:
    async def use(boxes: Boxes) -> None:
        async with boxes.open_terminal(shell("echo on; cat")) as run:
            await read_until(run, b"on")
            await run.write(b"x" * 10_000)

    async with Boxes.open(runner=RUNNER) as boxes:
        await boxes.run(shell("true"))
        files = open_files()
        for delay in range(60):
            using = asyncio.create_task(use(boxes))
            for _ in range(delay):
                await asyncio.sleep(0.0003)
            using.cancel()
            await asyncio.wait([using])
        async with asyncio.timeout(PATIENCE_S):
            assert (await boxes.run(shell("echo still"))).stdout == b"still\n"
        assert open_files() == files
        assert not open_masters()


async def test_a_program_that_cannot_start_is_a_fault() -> None:
    async with Boxes.open(runner=RUNNER) as boxes:
        with pytest.raises(Unavailable, match="program-exec"):
            async with boxes.open_terminal(Command(("/no/such/program",))) as run:
                await read_all(run)
        assert not open_masters()


async def test_a_daemon_does_not_keep_the_terminal() -> None:
    script = "(trap '' HUP; exec setsid sleep 1000000) & echo made"
    async with terminal(shell(script)) as run:
        pair = pair_identity(run._terminal.master)  # now: it is closed when the shell has ended
        await read_until(run, b"made\r\n")
        assert await read_all(run) == b""
        assert (await run.report()).status is RunStatus.OK
        assert is_gone(*pair)


async def test_a_killed_runner_closes_the_terminal() -> None:
    async def use(boxes: Boxes, seen: list[tuple[Path, int]]) -> None:
        async with boxes.open_terminal(shell("echo on; sleep 1000000")) as run:
            await read_until(run, b"on\r\n")
            seen.append(pair_identity(run._terminal.master))
            os.kill(boxes.runner_pid, signal.SIGKILL)
            assert await read_all(run) == b""

    async with Boxes.open(runner=RUNNER) as boxes:
        tree, seen = RunnerTree(boxes.runner_pid), list[tuple[Path, int]]()
        with pytest.raises(Unavailable):
            await use(boxes, seen)
        await until(lambda: is_gone(*seen[0]))
        assert (await boxes.run(shell("echo still"))).stdout == b"still\n"
    await assert_gone(tree)


@contextmanager
def other_python() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.sandbox.test_terminal"]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        try:
            yield process
        finally:
            process.kill()


async def test_a_killed_python_process_leaves_no_terminal() -> None:
    with other_python() as process:
        assert process.stdout is not None
        words = (await asyncio.to_thread(process.stdout.readline)).split()
        tree, path, made_ns = RunnerTree(int(words[0])), Path(words[1]), int(words[2])
        assert not is_gone(path, made_ns)
        process.kill()
        await until(lambda: is_gone(path, made_ns))
        await until(lambda: not tree.alive())


async def hold_open() -> None:
    async with Boxes.open(runner=RUNNER) as boxes:
        script = "trap '' HUP; echo on; sleep 1000000"
        async with boxes.open_terminal(shell(script)) as run:
            await read_until(run, b"on")
            print(boxes.runner_pid, *pair_identity(run._terminal.master), flush=True)
            await run.report()


if __name__ == "__main__":
    asyncio.run(hold_open())
