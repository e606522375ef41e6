"""Runs every program in attacks/ in a real box; its header says how the run must end.

    Rules, Attack             the rules that forbid it, and what it tries
    Expect                    how it ends with all layers: `status detail | status detail`
    Without X Y, Only X       how it ends without these layers, or with only these
    Each                      one trial for each of these words, which replaces $1
    Args, Stdin, Limits,      how to run it
      Profile, Address space,
      Data
    Terminal: yes             it runs only on a terminal
    Terminal: no              it is about pipes, and runs only on them
    After data: yes           the previous run in the same box had test data
    Twice: yes                a second run, with the argument `again`, is checked
    At least                  the least CPU time or memory in the report
    Machine                   the only architecture on which it applies
    Compile                   more options for gcc
    As root                   which trials need a box with more than one uid

Each attack runs in a box for judged programs and, with all layers, in one for executions: on
a terminal, with half of a core that it shares.

An attack prints `started` first. It prints `held` and exits with 0 only if each attempt
failed as expected; otherwise it prints what got through. After each attack, `witness.c` checks
the box.
"""

import asyncio
import os
import platform
import re
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import pytest_asyncio

from deemster.domain.errors import Refused
from deemster.domain.limits import Limits
from deemster.domain.run_status import RunStatus
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Command, Layers
from deemster.sandbox.wire import Report
from tests.sandbox.conftest import SLOWNESS, OpenBoxes, processes_under
from tests.waiting import PATIENCE_S, until

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.rootless]

ATTACKS = Path(__file__).parent / "attacks"
WITNESS = ATTACKS / "witness.c"
KIB, MIB = 1 << 10, 1 << 20
SMALL = Limits(
    cpu_ms=5_000,
    wall_ms=60_000,
    memory_bytes=64 * MIB,
    processes=16,
    output_bytes=MIB,
    file_bytes=4 * MIB,
    scratch_bytes=8 * MIB,
    scratch_inodes=256,
    open_files=64,
)
"""Default limits of an attack: enough to start, and quickly reached."""

KEY = re.compile(
    r"Rules|Attack|Expect|Each|Args|Stdin|Limits|Profile|Address space|Twice|At least|Machine"
    r"|As root|Data|After data|Terminal"
    r"|Compile"
    r"|(?P<how>Without|Only) (?P<layers>[A-Z]+( [A-Z]+)*)"
)
HEAD_LINE = re.compile(r'[ /*#"]*([A-Z][A-Za-z ]+): (.+)')
RUN = {
    ".c": ("/code/attack",),
    ".sh": ("/bin/sh", "/code/{name}"),
    ".py": ("/usr/bin/python3", "-I", "/code/{name}"),
    ".js": ("/usr/bin/node", "/code/{name}"),
    ".java": (
        *("/usr/bin/java", "-Xmx64m", "-XX:+UseSerialGC", "-XX:-UsePerfData"),
        *("-cp", "/code", "{stem}"),
    ),
}


@dataclass(frozen=True)
class Trial:
    source: Path
    head: dict[str, str]
    word: str
    """One of Each, or empty."""
    key: str
    """Expect, Without … or Only …"""

    def __str__(self) -> str:
        layers = "" if self.key == "Expect" else self.key[0].lower() + self.key[1:]
        return " ".join(filter(None, (self.source.stem, self.word, layers)))

    @property
    def layers(self) -> Layers:
        key = KEY.fullmatch(self.key)
        assert key is not None
        named = Layers(0)
        for name in (key["layers"] or "").split():
            named |= Layers[name]
        return named if key["how"] == "Only" else Layers.ALL & ~named

    def skip_if_not_applicable(self) -> None:
        machine, interpreter = platform.machine(), RUN[self.source.suffix][0]
        if os.geteuid() != 0 and self.key in self.head.get("As root", "").split(", "):
            pytest.skip("without root there is only one uid")
        if self.head.get("Machine", machine) != machine:
            pytest.skip(f"applies to {self.head['Machine']}")
        if self.source.suffix != ".c" and not Path(interpreter).exists():
            pytest.skip(f"needs {interpreter}")

    @property
    def endings(self) -> list[str]:
        return [self._fill(ending.strip()) for ending in self.head[self.key].split("|")]

    def command(self, code: Path, data: Path, port: int) -> Command:
        argv = [
            word.format(name=self.source.name, stem=self.source.stem)
            for word in RUN[self.source.suffix]
        ]
        argv += [self.word] if self.word else []
        argv += self.head.get("Args", "").replace("$port", str(port)).split()
        limits = replace(SMALL, **_quantities(self.head.get("Limits", "")))
        if "wall_limit" not in self.endings:  # a busy machine must not end it
            limits = replace(limits, wall_ms=max(limits.wall_ms, SMALL.wall_ms))
        if not {"time_limit", "wall_limit"} & set(self.endings):
            limits = replace(limits, cpu_ms=limits.cpu_ms * SLOWNESS)
        return Command(
            argv=tuple(argv),
            code=code,
            data=data if "Data" in self.head else None,
            limits=limits,
            profile=self.head.get("Profile", "program"),
            address_space="Address space" in self.head,
        )

    @property
    def at_least(self) -> dict[str, int]:
        return _quantities(self.head.get("At least", ""))

    def _fill(self, text: str) -> str:
        return text.replace("$1", self.word)


def _quantities(text: str) -> dict[str, int]:
    units = {"KiB": KIB, "MiB": MIB, "": 1}
    pairs = re.findall(r"(\w+)=(\d+)(KiB|MiB|)", text)
    return {name: int(number) * units[unit] for name, number, unit in pairs}


def _read_head(source: Path) -> dict[str, str]:
    head: dict[str, str] = {}
    for line in source.read_text().splitlines():
        found = HEAD_LINE.fullmatch(line)
        if found:
            assert KEY.fullmatch(found[1]), f"{source.name}: unknown key {found[1]}"
            head[found[1]] = f"{head.get(found[1], '')} {found[2]}".strip()
        if not line:
            break
    return head


def _trials() -> Iterator[Trial]:
    for source in sorted(ATTACKS.iterdir()):
        if source.suffix not in RUN:
            continue
        head = _read_head(source)
        for key in head:
            if key == "Expect" or key.startswith(("Without", "Only")):
                for word in head.get("Each", "").split() or [""]:
                    yield Trial(source, head, word, key)


TRIALS = list(_trials())


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def host_port() -> AsyncIterator[int]:
    """Starts a service of the host on a loopback port and on an abstract Unix socket."""

    def close_connection(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(close_connection, "127.0.0.1", 0) as tcp:
        port: int = tcp.sockets[0].getsockname()[1]
        async with await asyncio.start_unix_server(
            close_connection, f"\0deemster-attack-{port}"
        ):
            yield port


@pytest.fixture(scope="session")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes a directory of test data."""
    folder = tmp_path_factory.mktemp("data")
    folder.chmod(0o755)
    (folder / "secret").write_text("the jury's answer")
    return folder


@pytest.mark.parametrize("trial", TRIALS, ids=str)
async def test_the_sandbox_withstands(
    trial: Trial,
    open_boxes: OpenBoxes,
    build: Callable[[Path], Path],
    secret: Path,
    host_port: int,
) -> None:
    """X1-X7, J2, J5, J7, J8: it ends as its header says, and leaves nothing to the next run."""
    trial.skip_if_not_applicable()
    boxes = await open_boxes.with_layers(trial.layers)
    command = trial.command(build(trial.source), secret, host_port)
    await attack(boxes, command, trial, secret, trial.head)
    await check_box(boxes, build)


async def attack(
    boxes: Boxes, command: Command, trial: Trial, secret: Path, head: dict[str, str]
) -> None:
    if "After data" in trial.head:
        before = Command(("/bin/cat", "/data/secret"), data=secret)
        assert (await run(boxes, before, {})).stdout == b"the jury's answer"
    if "Twice" in trial.head:
        first = await run(boxes, command, head)
        assert first.status is RunStatus.OK or describe(first) in trial.endings
        command = replace(command, argv=(*command.argv, "again"))
    report = await run(boxes, command, head)
    check(trial, command, report)


INTERACTIVE = [trial for trial in TRIALS if trial.key == "Expect"]
HALF_A_CORE = 0.5 if os.geteuid() == 0 else 0
"""An ordinary user may have no quota of CPU time to give."""


@pytest.mark.parametrize("trial", INTERACTIVE, ids=str)
async def test_an_interactive_box_withstands(
    trial: Trial,
    open_boxes: OpenBoxes,
    build: Callable[[Path], Path],
    secret: Path,
    host_port: int,
) -> None:
    """X7, E9: the same as an execution, which has half of a core that it shares."""
    trial.skip_if_not_applicable()
    boxes = await open_boxes.interactive()
    command = trial.command(build(trial.source), secret, host_port)
    asked = {"processes": 50, **_quantities(trial.head.get("Limits", ""))}
    limits = replace(command.limits, cores=HALF_A_CORE, processes=asked["processes"])
    head = {"Terminal": "yes", **trial.head}
    await attack(boxes, replace(command, limits=limits), trial, secret, head)
    await check_box(boxes, build)


async def run_on_terminal(boxes: Boxes, command: Command, head: dict[str, str]) -> Report:
    """Returns the report with the output as the program wrote it."""
    async with boxes.open_terminal(command) as terminal:
        if head.get("Stdin") != "never closed":
            await terminal.write(head.get("Stdin", "").encode())
            await terminal.end_input()
        output = b""
        while chunk := await terminal.read():
            output += chunk
        report = await terminal.report()
    # The terminal adds carriage returns, also to an output that is cut off.
    cut = report.status is RunStatus.OUTPUT_LIMIT
    return replace(report, stdout=output if cut else output.replace(b"\r\n", b"\n"))


async def run(boxes: Boxes, command: Command, head: dict[str, str]) -> Report:
    with ExitStack() as stack:
        stdin: bytes | int = head.get("Stdin", "").encode()
        if stdin == b"never closed":
            stdin, writer = os.pipe()
            stack.callback(os.close, stdin)
            stack.callback(os.close, writer)
        async with asyncio.timeout(PATIENCE_S):
            if head.get("Terminal") == "yes":
                return await run_on_terminal(boxes, command, head)
            return await boxes.run(command, stdin=stdin)


KILLED_COMPILER = b"Killed signal terminated program"


def check(trial: Trial, command: Command, report: Report) -> None:
    details = f"{report}\nstdout: {report.stdout[-2000:]!r}\nstderr: {report.stderr[-2000:]!r}"
    ending = describe(report)
    assert {ending, report.status.value} & set(trial.endings), f"{ending}\n{details}"
    assert report.stdout.startswith((b"started\n", b"started\r\n")), details
    assert report.stdout.endswith(b"\nheld\n") or report.status is not RunStatus.OK, details
    assert b"\ngot through" in report.stdout or report.status is not RunStatus.NONZERO_EXIT, (
        details
    )

    # The kernel has refused the memory: the program did not only look too large afterwards.
    # If the kernel killed a compiler, its driver may say so before the run is ended.
    refused = report.status is RunStatus.MEMORY_LIMIT
    told = KILLED_COMPILER in report.stdout + report.stderr  # a terminal has one stream
    assert not refused or told or b"\ngot through" not in report.stdout, details

    cap = command.limits.output_bytes
    streams = (report.stdout, report.stdout_truncated), (report.stderr, report.stderr_truncated)
    assert all(len(data) == cap if cut else len(data) <= cap for data, cut in streams), details
    flooded = report.stdout_truncated or report.stderr_truncated
    assert flooded == (report.status is RunStatus.OUTPUT_LIMIT), details

    seen = {"cpu_ms": report.cpu_ns // 1_000_000, "memory_bytes": report.memory_bytes}
    assert all(seen[name] >= least for name, least in trial.at_least.items()), details


def describe(report: Report) -> str:
    match report.status:
        case RunStatus.FORBIDDEN_SYSCALL:
            return f"{report.status} {report.syscall}"
        case RunStatus.SIGNALLED:
            assert report.signal is not None
            return f"{report.status} {signal.Signals(report.signal).name}"
        case RunStatus.NONZERO_EXIT:
            return f"{report.status} {report.exit_code}"
    return report.status


async def check_box(boxes: Boxes, build: Callable[[Path], Path]) -> None:
    """Checks that nothing of the last run is left, in the box or outside."""
    command = Command(argv=("/code/attack",), code=build(WITNESS), limits=SMALL)
    report = await run(boxes, command, {})
    assert report.stdout == b"started\nheld\n", f"left behind: {report.stdout!r}"
    assert report.memory_bytes < 16 * MIB, "memory of the last run is counted again"
    # The runner, the spawner of the slot, and the init that waits for the next run.
    await until(lambda: len(processes_under(boxes.runner_pid)) == 3)


@pytest.mark.parametrize(
    "argv",
    [
        pytest.param((), id="nothing"),
        pytest.param(("/code/attack", "x" * (4 * MIB)), id="one of 4 MiB"),
        pytest.param(("/code/attack", *("x",) * 1_000_000), id="a million"),
        pytest.param(("/code/attack", "a\0b"), id="a zero byte"),
        pytest.param(("", "x"), id="no name"),
        pytest.param(("attack",), id="a relative path"),
        pytest.param(("../code/attack",), id="a path upwards"),
    ],
)
async def test_invalid_arguments_are_refused(
    argv: tuple[str, ...], open_boxes: OpenBoxes, build: Callable[[Path], Path]
) -> None:
    """X7: invalid arguments are an error of the caller, and the box stays usable."""
    boxes = await open_boxes.with_layers(Layers.ALL)
    with pytest.raises(Refused):
        await run(boxes, Command(argv=argv, code=build(WITNESS), limits=SMALL), {})
    await check_box(boxes, build)


async def test_arguments_reach_the_program_unchanged(
    open_boxes: OpenBoxes, build: Callable[[Path], Path]
) -> None:
    """J1: newlines, quotes and dollar signs are ordinary bytes of an argument."""
    boxes = await open_boxes.with_layers(Layers.ALL)
    words = (
        "-o\n/etc/passwd",
        "; id",
        "$(id)",
        "`id`",
        '"',
        "'",
        "",
        "\udcff",
        " ",
        "x" * 50_000,
    )
    script = (
        "import os, sys; sys.stdout.buffer.write(b'\\0'.join(map(os.fsencode, sys.argv[1:])))"
    )
    argv = ("/usr/bin/python3", "-c", script, *words)
    report = await run(boxes, Command(argv=argv, limits=SMALL), {})
    assert report.stdout == b"\0".join(map(os.fsencode, words))


def make_large_file(folder: Path) -> None:
    folder.chmod(0o755)
    (folder / "large").touch()
    os.truncate(folder / "large", 128 * MIB)


async def test_page_cache_does_not_count_as_memory_of_the_program(
    open_boxes: OpenBoxes, build: Callable[[Path], Path], tmp_path: Path
) -> None:
    """J7: a program may read a file that is larger than its memory limit."""
    make_large_file(tmp_path)
    boxes = await open_boxes.with_layers(Layers.ALL)
    limits = replace(SMALL, memory_bytes=32 * MIB)
    command = Command(("/bin/cksum", "/code/large"), code=tmp_path, limits=limits)
    report = await run(boxes, command, {})
    assert report.status is RunStatus.OK, report
    assert report.memory_bytes < limits.memory_bytes
    await check_box(boxes, build)


async def test_no_process_changes_the_scratch_while_the_host_reads_it(
    open_boxes: OpenBoxes, build: Callable[[Path], Path]
) -> None:
    """X7: when the host opens a path, every process that could replace it is dead."""
    boxes = await open_boxes.with_layers(Layers.ALL)
    seen: list[list[tuple[str, int]]] = []

    def collect(scratch: int) -> None:
        for _ in range(100):
            with os.scandir(scratch) as entries:
                seen.append(sorted((entry.name, entry.inode()) for entry in entries))

    command = Command(
        ("/code/attack",), code=build(ATTACKS / "files_until_the_end.c"), limits=SMALL
    )
    report = await boxes.run(command, collect=collect)
    assert report.status is RunStatus.OK
    assert seen[0]
    assert all(again == seen[0] for again in seen)
    await check_box(boxes, build)
