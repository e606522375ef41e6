"""A program that is a copy of a waiting interpreter is as one that started by itself (J5)."""

import asyncio
import os
import re
import signal
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from deemster.domain.limits import Limits
from deemster.domain.run_status import RunStatus
from deemster.domain.source import Source
from deemster.programs.build.compile import Build
from deemster.programs.execute import command_for
from deemster.sandbox.wire import Report
from tests.programs.conftest import OpenLanguage, ProgramRunner
from tests.sandbox.conftest import open_files, processes_under

HERE = Path(__file__).parent / "warm"
ENDS: dict[str, str] = tomllib.loads((HERE / "python3_ends.toml").read_text())["programs"]
LIMITS = Limits(cpu_ms=20_000, wall_ms=60_000, processes=16)
INTERPRETER = 30_000
"""Its pid inside of the box."""

needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="without root, init has the uid of the programs: none is warm"
)


async def run(
    program: ProgramRunner, built: Build, *, warm: bool = True, limits: Limits = LIMITS
) -> Report:
    assert built.program is not None, built.compilation
    command = command_for(built.program, limits)
    assert command.warm
    return await program.boxes.run(replace(command, warm=warm), stdin=b"first\nsecond\n")


def interpreters(program: ProgramRunner) -> list[int]:
    """The pids of waiting interpreters, outside of their boxes."""
    return [pid for pid in processes_under(program.boxes.runner_pid) if waits(pid)]


def waits(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    return any(
        line.startswith("NSpid:") and line.endswith(f"\t{INTERPRETER}")
        for line in status.splitlines()
    )


@needs_root
@pytest.mark.parametrize("file", ["python3.py", "pypy3.py", "perl.pl", "php.php"])
async def test_a_program_sees_the_same_warm_and_cold(
    open_language: OpenLanguage, file: str
) -> None:
    async with open_language(file.partition(".")[0]) as program:
        built = await program.build((HERE / file).read_text(), file)
        cold = await run(program, built, warm=False)
        first, again = await run(program, built), await run(program, built)
        assert interpreters(program)
    assert cold.status is RunStatus.NONZERO_EXIT
    assert b"input first" in cold.stdout
    for warm in (first, again):
        assert warm.stdout.decode().splitlines() == cold.stdout.decode().splitlines()
        assert (warm.stderr, warm.status, warm.exit_code) == (
            cold.stderr,
            cold.status,
            cold.exit_code,
        )


RANDOM = {
    "python3": "import os, random; print(random.random(), os.urandom(9))",
    "pypy3": "import os, random; print(random.random(), os.urandom(9))",
    "perl": "print rand(), ' ', rand();",
    "php": "<?php echo mt_rand(), ' ', random_int(0, PHP_INT_MAX), ' ', lcg_value();",
}


@needs_root
@pytest.mark.parametrize("language", RANDOM)
async def test_copies_have_random_numbers_of_their_own(
    open_language: OpenLanguage, language: str
) -> None:
    async with open_language(language) as program:
        built = await program.build(RANDOM[language])
        reports = [await run(program, built) for _ in range(4)]
        assert interpreters(program)
    words = [report.stdout.split() for report in reports]
    assert all(report.status is RunStatus.OK for report in reports)
    assert len({each[0] for each in words}) == len(reports)
    assert len({each[-1] for each in words}) == len(reports)


def result(report: Report) -> tuple[object, ...]:
    """What a run shows, without addresses, which change from run to run."""
    shown = (re.sub(rb"0x[0-9a-f]+", b"0x", text) for text in (report.stdout, report.stderr))
    return (report.status, report.exit_code, report.signal, *shown)


@needs_root
async def test_programs_end_the_same_warm_and_cold(open_language: OpenLanguage) -> None:
    """Whatever a Python program leaves to its end is done, in the same order (J5)."""
    async with open_language("python3") as program:
        for name, text in ENDS.items():
            built = await program.build(text)
            cold = await run(program, built, warm=False)
            warm = await run(program, built)
            assert result(warm) == result(cold), name
        assert interpreters(program)


@needs_root
@pytest.mark.parametrize(
    "text",
    [
        "print(sum(map(int, input().replace('first', '1 2').split())))",
        "import sys; sys.stdin = open(0); print(sys.stdin.read()); sys.exit(3)",
        "import math, collections.abc, heapq, itertools\nclass A(collections.abc.Sized): pass",
        "def f():\n    yield 1\n    yield 2\nkept = f(); print(next(kept))",
        "import threading; threading.Thread(target=print).start()",
    ],
)
async def test_a_usual_end_leaves_the_interpreter_alone(
    open_language: OpenLanguage, text: str
) -> None:
    """The usual end of Python changes nearly all pages of the copy (J5)."""
    long = "class Visible:\n    def __del__(self): pass\nvisible = Visible()\n"
    async with open_language("python3") as program:
        usual, visible = await program.build(text), await program.build(long + text)
        await run(program, usual)
        report, longer = await run(program, usual), await run(program, visible)
    assert report.memory_bytes < longer.memory_bytes - (1 << 19)


@pytest.mark.parametrize(
    ("files", "stdout", "stderr"),
    [
        pytest.param(
            {"main.py": b"print(1 is 1)\n"}, b"True\n", b"SyntaxWarning", id="warning"
        ),
        pytest.param(
            {"main.py": b"print(open('/code/.bytecode').read())\n", ".bytecode": b"own"},
            b"own\n",
            b"",
            id="own file",
        ),
    ],
)
async def test_a_program_without_bytecode_is_no_copy(
    open_language: OpenLanguage, files: dict[str, bytes], stdout: bytes, stderr: bytes
) -> None:
    """Bytecode shows no warnings of the compiler, and takes no name of a user (J5)."""
    async with open_language("python3") as program:
        built = await program.build_source(Source(files, main="main.py"))
        assert built.program is not None, built.compilation
        command = command_for(built.program, LIMITS)
        report = await program.boxes.run(command)
    assert not command.warm
    assert (report.stdout, stderr in report.stderr) == (stdout, True)


async def test_a_program_in_a_folder_is_no_copy(open_language: OpenLanguage) -> None:
    """A waiting interpreter has no such folder, where the program looks for modules (J5)."""
    files = {
        "pkg/start.py": b"import heapq, own; print(heapq.text, own.text)",
        "pkg/heapq.py": b"text = 1",
        "pkg/own.py": b"text = 2",
    }
    async with open_language("python3") as program:
        built = await program.build_source(Source(files, main="pkg/start.py"))
        assert built.program is not None, built.compilation
        command = command_for(built.program, LIMITS)
        reports = [await program.boxes.run(command) for _ in range(2)]
    assert not command.warm
    assert [report.stdout for report in reports] == [b"1 2\n"] * 2


async def test_constant_sets_keep_their_order(open_language: OpenLanguage) -> None:
    """Bytecode that is read from a file may have another one; then there is none (J5)."""
    texts = [
        "print(input() in {'+', '-', '*'}, {3, 1, 2})",
        "def f(): return {8, 0, 16}\nprint(f())",
    ]
    async with open_language("python3") as program:
        usual, other = [await program.build(text) for text in texts]
        assert other.program is not None
        report = await program.boxes.run(command_for(other.program, LIMITS))
    assert report.stdout == b"{8, 0, 16}\n"
    assert other.program.bytecode is None
    assert usual.program is not None
    assert usual.program.bytecode is not None


@needs_root
async def test_a_copy_does_not_parse_its_program(open_language: OpenLanguage) -> None:
    """The compile step has left bytecode: a long program costs little more than a short one."""
    unused = "".join(
        f"def f{number}(a, b):\n    return a + b * {number}\n" for number in range(300)
    )
    async with open_language("python3") as program:
        short, long = await program.build("print(1)"), await program.build(unused + "print(1)")
        times = []
        for built in (short, long):
            await run(program, built)
            reports = [await run(program, built) for _ in range(5)]
            assert all(report.stdout == b"1\n" for report in reports)
            times.append(min(report.cpu_ns for report in reports))
    # To parse 600 lines takes more than five times as long as a whole run.
    assert times[1] < 3 * times[0]


@needs_root
async def test_nothing_of_a_run_reaches_the_next(open_language: OpenLanguage) -> None:
    text = """
import builtins, os, sys
print(hasattr(builtins, "left"), hasattr(sys, "left"), os.environ.get("left"), os.listdir())
builtins.left = sys.left = os.environ["left"] = "left"
open("left", "w").close()
if os.fork() == 0:
    import time
    time.sleep(60)
"""
    async with open_language("python3") as program:
        built = await program.build(text)
        reports = [await run(program, built) for _ in range(3)]
    assert [report.stdout for report in reports] == [b"False False None []\n"] * 3


@needs_root
async def test_x1_a_program_can_not_reach_the_interpreter(open_language: OpenLanguage) -> None:
    text = f"""
import os, signal, time
def tried(call, *arguments):
    try:
        return call(*arguments)
    except OSError as fault:
        return type(fault).__name__
for number in (signal.SIGKILL, signal.SIGSTOP):
    print(tried(os.kill, {INTERPRETER}, number))
print(tried(os.listdir, "/proc/{INTERPRETER}"), tried(os.setpriority, 0, {INTERPRETER}, 19))
print(tried(open, "/proc/{INTERPRETER}/mem", "rb"), tried(os.setpriority, 2, 0, 19))
print(tried(os.sched_setaffinity, {INTERPRETER}, [0]), tried(os.setpgid, {INTERPRETER}, 0))
print(tried(time.clock_gettime, ~{INTERPRETER} << 3 | 2))  # of its CPU time
os.kill(-1, signal.SIGUSR1)
"""
    async with open_language("python3") as program:
        built = await program.build(text)
        report = await run(program, built)
        [before] = interpreters(program)
        again = await run(program, built)
        assert interpreters(program) == [before]
    lines = report.stdout.decode().split("\n")
    assert lines[:2] == ["PermissionError"] * 2
    assert lines[2] == "PermissionError PermissionError"
    assert lines[3].startswith("PermissionError")
    assert lines[4:6] == ["PermissionError ProcessLookupError", "OSError"]
    assert report.stdout == again.stdout


IMPOSTOR = """
import ctypes, os, socket, struct
CLONE = 56 if os.uname().machine == "x86_64" else 220
CLONE_PARENT, SIGCHLD = 0x8000, 17
SOCKET, PIPE = 63, 62  # of a waiting interpreter
copy = (CLONE, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)
def answer(pid):
    os.write(SOCKET, struct.pack("ii", pid, 0))
try:
    answer(0)  # ready, it says
    while os.read(PIPE, 1) and ctypes.CDLL(None).syscall(*copy):
        pass
    init = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, fileno=SOCKET)
    for number, stream in enumerate(socket.recv_fds(init, 1024, 3)[1]):
        os.dup2(stream, number)
    answer(os.getpid())
except OSError:
    pass
print(os.getuid(), os.getpid())
"""


@needs_root
async def test_x1_no_code_of_a_user_runs_in_a_waiting_interpreter(
    open_language: OpenLanguage,
) -> None:
    """Arguments of the interpreter can be a program: this one takes the interpreter's place."""
    async with open_language("python3") as program:
        built = await program.build("print('not reached')")
        assert built.program is not None
        command = command_for(built.program, LIMITS, interpreter_args=("-c", IMPOSTOR))
        reports = [await program.boxes.run(command) for _ in range(2)]
        assert not interpreters(program)
    assert [report.stdout for report in reports] == [b"1000 2\n"] * 2


@needs_root
async def test_an_interpreter_that_dies_is_replaced(open_language: OpenLanguage) -> None:
    async with open_language("python3") as program:
        built = await program.build("print(input())")
        for _ in range(3):
            report = await run(program, built)
            assert (report.status, report.stdout) == (RunStatus.OK, b"first\n"), report.stderr
            for pid in interpreters(program):
                os.kill(pid, signal.SIGKILL)
        report, _ = await asyncio.gather(run(program, built), run(program, built))
        assert report.status is RunStatus.OK


@needs_root
@pytest.mark.parametrize(
    ("args", "stack_bytes"),
    [
        pytest.param(("/code/" + "x" * 300,), 0, id="a long name"),
        pytest.param(tuple(f"/code/{number}" for number in range(100)), 0, id="many files"),
        pytest.param((), 4096, id="a small stack"),
    ],
)
async def test_no_run_keeps_the_interpreters_of_others_from_starting(
    open_language: OpenLanguage, args: tuple[str, ...], stack_bytes: int
) -> None:
    """After three failures a box starts programs cold for a while (X7)."""
    async with open_language("python3") as program:
        built = await program.build("print(1)")
        assert built.program is not None
        limits = replace(LIMITS, stack_bytes=stack_bytes)
        for number in range(3):
            command = command_for(built.program, limits, (str(number), *args))
            await program.boxes.run(command)
        assert (await run(program, built)).stdout == b"1\n"
        assert interpreters(program)


@needs_root
async def test_a_box_that_gave_up_tries_again_later(open_language: OpenLanguage) -> None:
    """A busy hour must not make programs slower for good."""
    async with open_language("python3") as program:
        built = await program.build("print(1)")
        assert built.program is not None
        command = command_for(built.program, LIMITS)
        for _ in range(3):
            await program.boxes.run(replace(command, argv=(command.argv[0], "--version")))
        assert (await run(program, built)).stdout == b"1\n"
        assert not interpreters(program), "it did not give up"
        for _ in range(100):
            assert (await run(program, built)).stdout == b"1\n"
        assert interpreters(program)


@needs_root
async def test_limits_hold_for_copies(open_language: OpenLanguage) -> None:
    spin, hog = "while True: pass", "x = [0] * 10**9"
    fork = "import os\nwhile True: os.fork()"
    async with open_language("python3") as program:
        for text, status in (
            (spin, RunStatus.TIME_LIMIT),
            (hog, RunStatus.MEMORY_LIMIT),
            (fork, RunStatus.PROCESS_LIMIT),
            ("import socket; socket.socket()", RunStatus.FORBIDDEN_SYSCALL),
        ):
            built = await program.build(text)
            first = await program.build("print(1)")
            assert (await run(program, first)).status is RunStatus.OK
            assert interpreters(program)
            limits = replace(LIMITS, cpu_ms=250, memory_bytes=128 << 20)
            assert (await run(program, built, limits=limits)).status is status


@needs_root
async def test_a_copy_is_cheaper_and_its_memory_is_counted(open_language: OpenLanguage) -> None:
    async with open_language("python3") as program:
        built = await program.build("data = bytearray(b'x') * (32 << 20)")
        cold = [await run(program, built, warm=False) for _ in range(5)]
        await run(program, built)
        warm = [await run(program, built) for _ in range(5)]
    assert min(report.cpu_ns for report in warm) < min(report.cpu_ns for report in cold)
    for report in (*cold, *warm):
        assert 32 << 20 < report.memory_bytes < 48 << 20


@needs_root
@pytest.mark.parametrize("runs", [200, pytest.param(100_000, marks=pytest.mark.soak)])
async def test_many_copies_leak_nothing(open_language: OpenLanguage, runs: int) -> None:
    async with open_language("python3") as program:
        built = await program.build("print(1)")

        async def several(count: int) -> None:
            for _ in range(count):
                assert (await run(program, built)).stdout == b"1\n"

        await several(20)
        tree = processes_under(program.boxes.runner_pid)
        before = {pid: open_files(pid) for pid in tree}
        [waiting] = interpreters(program)
        memory = resident(waiting)
        await several(runs)
        assert interpreters(program) == [waiting]
        assert {pid: open_files(pid) for pid in tree} == before
        assert resident(waiting) < memory * 1.2


def resident(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("RssAnon:")]
    return int(line.split()[1])
