"""Pairs: which side ended first, which is to blame, and that no side waits for a dead one.

Both sides run talker.c, whose header lists the actions that the tests use.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from deemster.domain.errors import Refused
from deemster.domain.run_status import RunStatus
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Command
from deemster.sandbox.lanes import Lanes
from deemster.sandbox.pair import Pair
from deemster.sandbox.runner import SandboxFault
from deemster.sandbox.staging import Scratch
from deemster.sandbox.wire import Report
from tests.sandbox.conftest import PATIENT, RUNNER, SLOWNESS, open_files, processes_under, shell
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.rootless

TALKER = Path(__file__).parent / "talker.c"
SHORT_S = 0.3 * SLOWNESS
IDLE_PROCESSES = 5
"""The runner, two spawners, and the two inits that wait for the next runs."""
ONE_CORE = "one core"
CHECK_US = 20_000
"""How often init checks the pipes of a pair: PIPE_CHECK_NS in init.c."""


class PairBoxes:
    """Two boxes, with talker.c as /code."""

    def __init__(self, boxes: Boxes, code: Path) -> None:
        self.boxes = boxes
        self.code = code

    def command(self, actions: str) -> Command:
        return Command(("/code/attack", *actions.split()), limits=PATIENT, code=self.code)

    async def run(
        self,
        program: str | Command,
        companion: str | Command,
        *,
        wall_s: float = PATIENCE_S,
        cancel_program: bool = False,
        drain_unread: bool = False,
    ) -> Pair:
        """With `cancel_program`, the end of the companion cancels the program."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.boxes.run_pair(
                self.command(program) if isinstance(program, str) else program,
                self.command(companion) if isinstance(companion, str) else companion,
                wall_s=wall_s,
                cancel_program_if=lambda _: cancel_program,
                drain_unread=drain_unread,
            )


@pytest.fixture
async def pairs(
    build: Callable[[Path], Path], request: pytest.FixtureRequest
) -> AsyncIterator[PairBoxes]:
    if getattr(request, "param", "") == ONE_CORE:
        async with Lanes.open(1, runner=RUNNER) as lanes, lanes.acquire() as boxes:
            yield PairBoxes(boxes, build(TALKER))
    else:
        async with Boxes.open(slots=2, runner=RUNNER) as boxes:
            yield PairBoxes(boxes, build(TALKER))


on_one_core_and_more = pytest.mark.parametrize("pairs", [ONE_CORE, "all cores"], indirect=True)


def codes(pair: Pair) -> tuple[int | None, int | None]:
    return pair.program.exit_code, pair.companion.exit_code


def blamed(pair: Pair) -> str | None:
    return None if pair.hang is None else pair.hang.blame


# -- the conversation --


async def test_two_talk_to_each_other(pairs: PairBoxes) -> None:
    pair = await pairs.run("echo", "ask:3000 exit:42")
    assert codes(pair) == (0, 42)
    assert pair.hang is None


@pytest.mark.soak
@on_one_core_and_more
async def test_the_cost_of_a_round_trip(
    pairs: PairBoxes, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = await pairs.run("echo", "ask:200000 exit:42")
    assert codes(pair) == (0, 42)
    with capsys.disabled():
        print(f"\na round trip costs {pair.companion.wall_ns / 200_000:.0f} ns")


async def test_both_sides_are_measured_and_their_stderr_is_kept(pairs: PairBoxes) -> None:
    chunks: list[bytes] = []
    pair = await pairs.boxes.run_pair(
        shell("echo mine >&2; read a; echo $a; cat"),
        shell("echo yours >&2; echo question; read b; echo $b >&2"),
        wall_s=PATIENCE_S,
        cancel_program_if=lambda _: False,
        companion_stderr=chunks.append,
    )
    assert pair.program.stderr == b"mine\n"
    assert b"".join(chunks) == b"yours\nquestion\n"
    assert pair.companion.stderr == pair.program.stdout == pair.companion.stdout == b""
    for report in (pair.program, pair.companion):
        assert report.status is RunStatus.OK
        assert report.cpu_ns > 0
        assert report.wall_ns > 0
        assert report.started_ns < report.ended_ns <= time.monotonic_ns()


async def test_both_sides_start_after_both_are_staged(pairs: PairBoxes) -> None:
    staged_ns: list[int] = []
    found: list[bytes] = []

    def put(scratch: Scratch) -> None:
        scratch.make_directory("staged")
        staged_ns.append(time.monotonic_ns())

    def collect(scratch: int) -> None:
        with os.fdopen(os.open("verdict", os.O_RDONLY, dir_fd=scratch), "rb") as file:
            found.append(file.read())

    pair = await pairs.boxes.run_pair(
        shell("ls; exec >/dev/null; cat"),
        shell("ls; cat /data/attack > copy; cat > verdict", data=pairs.code),
        wall_s=PATIENCE_S,
        cancel_program_if=lambda _: False,
        stage=put,
        collect=collect,
        program_stage=put,
    )
    assert pair.hang is None
    assert found == [b"staged\n"]
    assert len(staged_ns) == 2
    assert max(staged_ns) <= min(pair.program.started_ns, pair.companion.started_ns)
    assert (await pairs.boxes.run(shell("ls -A /work /data"))).stdout == b"/data:\n\n/work:\n"


# -- which side ended first --

ORDERS = {
    "the program crashes, the companion reads the end": ("crash", "read-all exit:1", "program"),
    "the program exits, the companion reads the end": ("exit:3", "read-all exit:1", "program"),
    "the program crashes, the companion can't write": ("crash", "write-all exit:1", "program"),
    "the program exits and leaves a child": (
        "leave-child exit:3",
        "read-all exit:1",
        "program",
    ),
    "the companion exits, the program crashes": ("read-all crash", "exit:43", "companion"),
    "the companion exits, the program can't write": ("write-all crash", "exit:43", "companion"),
    "the companion crashes, the program exits": ("read-all exit:3", "crash", "companion"),
    "the companion exits and leaves a child": (
        "read-all exit:3",
        "leave-child exit:1",
        "companion",
    ),
    "an answer, then the program crashes": (
        "read write:x crash",
        "write:x read-all",
        "program",
    ),
    "an answer, then the companion exits": (
        "read write:x read-all crash",
        "write:x read exit:43",
        "companion",
    ),
}


many_times = pytest.mark.parametrize("times", [40, pytest.param(200, marks=pytest.mark.soak)])


@pytest.mark.parametrize("case", ORDERS)
@on_one_core_and_more
@many_times
async def test_a_cause_always_ends_before_its_consequence(
    case: str, pairs: PairBoxes, times: int
) -> None:
    program, companion, first = ORDERS[case]
    for _ in range(times):
        pair = await pairs.run(program, companion)
        assert pair.ended_first == first, pair
        assert pair.hang is None
        crashed = "crash" in program
        assert pair.program.signal == (signal.SIGSEGV if crashed else None), pair


@pytest.mark.parametrize("companion", ["read-all exit:1", "write-all exit:1"])
@many_times
async def test_a_cause_ends_first_even_during_a_check_of_the_pipes(
    pairs: PairBoxes, companion: str, times: int
) -> None:
    """Init checks a program with a moved stdout closely; the program dies during that check."""
    for turn in range(times):
        sleep_us = CHECK_US - 1_500 + 3_000 * turn // times
        pair = await pairs.run(f"move-stdout sleep-us:{sleep_us} crash", companion)
        assert pair.ended_first == "program", pair


# -- closed pipes --

CLOSED_PIPES = {
    "the program's stdout": ("close-stdout read exit:7", "read-all write:bye exit:42", (7, 42)),
    "the program's stdin": ("close-stdin read exit:7", "write-all exit:42", (90, 42)),
    "the companion's stdout": (
        "read-all write:bye exit:7",
        "close-stdout read exit:42",
        (7, 42),
    ),
    "the companion's stdin": ("write-all exit:7", "close-stdin read exit:42", (7, 90)),
    "a moved stdout": (
        "move-stdout close-stdout read exit:7",
        "read-all write:bye exit:42",
        (7, 42),
    ),
    "a child's stdout": (
        "child-writes:word read exit:7",
        "read read-all write:bye exit:42",
        (7, 42),
    ),
    "both pipes": ("close-stdout close-stdin exit:7", "read-all write-all exit:42", (7, 42)),
}


@pytest.mark.parametrize("case", CLOSED_PIPES)
async def test_the_other_side_notices_a_pipe_that_a_running_program_closed(
    pairs: PairBoxes, case: str
) -> None:
    program, companion, expected = CLOSED_PIPES[case]
    pair = await pairs.run(program, companion)
    assert codes(pair) == expected
    assert pair.hang is None


@pytest.mark.parametrize("action", ["close-stdout", "close-stdin"])
async def test_a_closed_pipe_is_noticed_while_its_program_sleeps(
    pairs: PairBoxes, action: str
) -> None:
    other = "read-all exit:42" if action == "close-stdout" else "write-all exit:42"
    pair = await pairs.run(f"{action} sleep", other, cancel_program=True)
    assert (pair.ended_first, pair.companion.exit_code) == ("companion", 42)
    assert pair.program.status is RunStatus.CANCELLED
    pair = await pairs.run(other, f"{action} sleep", wall_s=5 * SHORT_S)
    assert (pair.ended_first, pair.program.exit_code) == ("program", 42)
    assert blamed(pair) == "companion"


async def test_a_moved_stdout_stays_open(pairs: PairBoxes) -> None:
    """Also over several checks of the pipes."""
    sleep = f"sleep-us:{5 * CHECK_US}"
    pair = await pairs.run(
        f"move-stdout {sleep} write:x {sleep} write:y {sleep}", "read read read-all exit:42"
    )
    assert codes(pair) == (0, 42)


async def test_a_program_that_changes_its_pipes_harms_only_itself(pairs: PairBoxes) -> None:
    """Mode, size and flags of its pipe ends do not affect the companion."""
    pair = await pairs.run(
        "change-pipes sleep-us:50000 write:x exit:3", "read read-all write-all exit:42"
    )
    assert codes(pair) == (3, 42)
    assert pair.ended_first == "program"
    pair = await pairs.run("change-pipes sleep", "read", wall_s=SHORT_S)
    assert blamed(pair) == "program"


LONG = "write-blocks:1000"
"""Much more than fits into a pipe."""


@pytest.mark.parametrize("program", ["exit:7", "crash", "close-stdin sleep-us:50000 exit:7"])
async def test_with_drain_unread_a_companion_can_write_after_the_end_of_the_program(
    pairs: PairBoxes, program: str
) -> None:
    pair = await pairs.run(program, f"{LONG} exit:42")
    assert pair.companion.exit_code == 93
    pair = await pairs.run(program, f"{LONG} read-all exit:42", drain_unread=True)
    assert pair.companion.exit_code == 42
    assert (pair.ended_first, pair.hang) == ("program", None)


async def test_with_drain_unread_a_program_that_reads_gets_everything(pairs: PairBoxes) -> None:
    pair = await pairs.boxes.run_pair(
        shell("cksum >&2"),
        shell("cat /code/attack", code=pairs.code),
        wall_s=PATIENCE_S,
        cancel_program_if=lambda _: False,
        drain_unread=True,
    )
    expected = await pairs.boxes.run(shell("cksum < /code/attack", code=pairs.code))
    assert pair.program.stderr == expected.stdout
    assert pair.companion.status is RunStatus.OK


async def test_a_companion_is_not_to_blame_if_a_running_program_closed_its_stdin(
    pairs: PairBoxes,
) -> None:
    pair = await pairs.run("close-stdin sleep", LONG, wall_s=SHORT_S, drain_unread=True)
    assert blamed(pair) == "program"


# -- cancelling the program --


async def test_the_end_of_the_companion_can_cancel_the_program(pairs: PairBoxes) -> None:
    reports: list[Report] = []

    def cancel_rule(report: Report) -> bool:
        reports.append(report)
        return True

    pair = await pairs.boxes.run_pair(
        pairs.command("sleep"),
        pairs.command("exit:43"),
        wall_s=PATIENCE_S,
        cancel_program_if=cancel_rule,
    )
    assert pair.program.status is RunStatus.CANCELLED
    assert [report.exit_code for report in reports] == [43]
    assert (pair.ended_first, pair.hang) == ("companion", None)


async def test_a_program_that_is_not_cancelled_runs_to_its_end(pairs: PairBoxes) -> None:
    pair = await pairs.run("read-all sleep-us:100000 exit:3", "exit:42")
    assert (codes(pair), pair.ended_first) == ((3, 42), "companion")


async def test_the_rule_is_not_called_when_the_program_ended_first(pairs: PairBoxes) -> None:
    def cancel_rule(report: Report) -> bool:
        pytest.fail(f"called with {report}")

    pair = await pairs.boxes.run_pair(
        pairs.command("exit:3"),
        pairs.command("read-all sleep-us:100000 exit:42"),
        wall_s=PATIENCE_S,
        cancel_program_if=cancel_rule,
    )
    assert codes(pair) == (3, 42)


async def test_an_exception_of_the_rule_ends_both(pairs: PairBoxes) -> None:
    def cancel_rule(_: Report) -> bool:
        raise ValueError("can't say")

    with pytest.raises(ValueError, match="can't say"):
        await pairs.boxes.run_pair(
            pairs.command("sleep"),
            pairs.command("exit:1"),
            wall_s=PATIENCE_S,
            cancel_program_if=cancel_rule,
        )
    assert codes(await pairs.run("echo", "ask:3 exit:42")) == (0, 42)


# -- blame --

HANGS = {
    "both read": ("read", "read", "program"),
    "the program sleeps": ("sleep", "read", "program"),
    "the program never reads": ("flood", "echo", "program"),
    "the program neither reads nor writes": ("sleep", "flood", "program"),
    "both only write": ("flood", "flood", "program"),
    "the program waits for too much input": (
        "write:x read read",
        "read write:y read",
        "program",
    ),
    "the companion sleeps instead of reading": ("write:x read", "sleep", "companion"),
    "the companion sleeps while the pipe is full": ("flood", "sleep", "companion"),
    "the companion sleeps after end of file": (
        "close-stdout read",
        "read-all sleep",
        "companion",
    ),
    "the companion sleeps before end of file": (
        "write:x close-stdout read",
        "sleep",
        "companion",
    ),
    "the companion writes without end": ("read-all", "flood", "companion"),
    "the companion writes slowly without end": ("read-all", "write-slowly", "companion"),
    "the companion outlives the program": ("exit:0", "read-all sleep", "companion"),
    "the program outlives the companion": ("read-all sleep", "exit:42", "program"),
}


@pytest.mark.parametrize("case", HANGS)
async def test_one_side_is_to_blame_for_a_hung_pair(pairs: PairBoxes, case: str) -> None:
    program, companion, blame = HANGS[case]
    # A program that has not begun yet is to blame: on a busy machine it needs time to begin.
    wall_s = SHORT_S if blame == "program" else 5 * SHORT_S
    pair = await pairs.run(program, companion, wall_s=wall_s)
    assert blamed(pair) == blame, pair
    assert RunStatus.CANCELLED in {pair.program.status, pair.companion.status}
    assert codes(await pairs.run("echo", "ask:3 exit:42")) == (0, 42)


async def test_a_program_that_floods_is_to_blame_although_it_is_read_slowly(
    pairs: PairBoxes,
) -> None:
    pair = await pairs.run("flood", "read-slowly", wall_s=SHORT_S)
    assert pair.hang is not None
    assert (pair.hang.blame, pair.hang.companion_read) == ("program", True)


@pytest.mark.parametrize(
    "program", ["flood", "write-slowly", "write:x sleep", "write:x close-stdout sleep"]
)
async def test_a_companion_that_reads_nothing_is_to_blame(
    pairs: PairBoxes, program: str
) -> None:
    # A program that has not begun yet is to blame: on a busy machine it needs time to begin.
    pair = await pairs.run(program, "sleep", wall_s=5 * SHORT_S)
    assert pair.hang is not None
    assert (pair.hang.blame, pair.hang.companion_read) == ("companion", False)


BUSY = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"
BUSY_PROCESSES = 8


@pytest.fixture
def busy_core() -> Iterator[int]:
    core = min(os.sched_getaffinity(0))
    command = [sys.executable, "-c", BUSY, str(core)]
    others = [subprocess.Popen(command) for _ in range(BUSY_PROCESSES)]
    try:
        yield core
    finally:
        for each in others:
            each.kill()
            each.wait()


@pytest.fixture
async def starved_pairs(
    build: Callable[[Path], Path], busy_core: int
) -> AsyncIterator[PairBoxes]:
    """Both boxes are on a core that other processes use, too."""
    async with Boxes.open(slots=2, cpus=[busy_core], runner=RUNNER) as boxes:
        yield PairBoxes(boxes, build(TALKER))


async def test_j4_the_blame_does_not_depend_on_the_load_of_the_machine(
    starved_pairs: PairBoxes,
) -> None:
    """J4: a side that waits for a core is not idle."""
    wall_s = 3 * SHORT_S
    pair = await starved_pairs.run("write:x read", "read spin", wall_s=wall_s)
    assert pair.hang is not None
    assert not pair.hang.companion_read
    assert pair.hang.companion_ready_ns > pair.companion.wall_ns / 2
    # How much less depends on the groups by which the kernel shares the core.
    assert pair.companion.cpu_ns < pair.hang.companion_ready_ns * 0.9
    pair = await starved_pairs.run("read-all", "flood", wall_s=wall_s)
    assert blamed(pair) == "companion"
    pair = await starved_pairs.run("echo", "ask:2000000000", wall_s=wall_s)
    assert pair.hang is not None
    assert (pair.hang.blame, pair.hang.companion_read) == ("program", True)


async def test_the_clock_ends_an_endless_conversation(pairs: PairBoxes) -> None:
    pair = await pairs.run("echo", "ask:2000000000", wall_s=SHORT_S)
    assert pair.hang is not None
    assert (pair.hang.blame, pair.hang.companion_read) == ("program", True)


@pytest.mark.parametrize(
    ("limits", "action", "status"),
    [
        (replace(PATIENT, cpu_ms=100), "spin", RunStatus.TIME_LIMIT),
        (replace(PATIENT, wall_ms=200), "sleep", RunStatus.WALL_LIMIT),
    ],
    ids=["CPU time", "wall time"],
)
async def test_each_side_has_its_own_limits(
    pairs: PairBoxes, limits: object, action: str, status: RunStatus
) -> None:
    limited = replace(pairs.command(action), limits=limits)  # type: ignore[arg-type]
    pair = await pairs.run(limited, "read-all exit:1")
    assert (pair.program.status, pair.companion.exit_code) == (status, 1)
    assert pair.ended_first == "program"
    assert pair.hang is None
    pair = await pairs.run("read-all exit:1", limited)
    assert (pair.companion.status, pair.program.exit_code) == (status, 1)
    assert pair.ended_first == "companion"


# -- cancellations and faults --


async def test_a_pair_cancelled_at_any_moment_releases_both_boxes(pairs: PairBoxes) -> None:
    for delay in range(60):
        run = asyncio.create_task(
            pairs.boxes.run_pair(
                pairs.command("echo"),
                pairs.command("ask:1000000"),
                wall_s=PATIENCE_S,
                cancel_program_if=lambda _: False,
                stage=(lambda _: None) if delay % 2 else None,
                collect=os.listdir if delay % 3 else None,
            )
        )
        for _ in range(delay):
            await asyncio.sleep(0.0002)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
    assert codes(await pairs.run("echo", "ask:3 exit:42")) == (0, 42)
    await until(lambda: len(processes_under(pairs.boxes.runner_pid)) == IDLE_PROCESSES)


@pytest.mark.parametrize("missing", ["program", "companion"])
async def test_if_one_side_cannot_start_the_other_is_ended(
    pairs: PairBoxes, missing: str
) -> None:
    absent = Command(("/usr/none",), limits=PATIENT, code=TALKER.parent)
    present = pairs.command("sleep")
    both = (absent, present) if missing == "program" else (present, absent)
    with pytest.raises(SandboxFault, match="program-exec"):
        await pairs.run(*both)
    assert codes(await pairs.run("echo", "ask:3 exit:42")) == (0, 42)


@pytest.mark.parametrize("missing", ["program", "companion"])
async def test_a_submitted_program_that_cannot_start_ended_first(
    pairs: PairBoxes, missing: str
) -> None:
    absent = Command(("/code/none",), limits=PATIENT, code=TALKER.parent)
    cat = Command(("/bin/cat",), limits=PATIENT)
    for _ in range(20):
        pair = await pairs.run(*((absent, cat) if missing == "program" else (cat, absent)))
        assert codes(pair) == ((127, 0) if missing == "program" else (0, 127))
        assert pair.ended_first == missing


async def test_an_exception_of_a_stage_ends_both(pairs: PairBoxes) -> None:
    def fail(_: int) -> None:
        raise ValueError("no room")

    for at in ("stage", "program_stage"):
        with pytest.raises(ValueError, match="no room"):
            await pairs.boxes.run_pair(
                pairs.command("sleep"),
                pairs.command("sleep"),
                wall_s=PATIENCE_S,
                cancel_program_if=lambda _: False,
                **{at: fail},  # type: ignore[arg-type]
            )
    assert codes(await pairs.run("echo", "ask:3 exit:42")) == (0, 42)


@pytest.mark.parametrize("victim", [0, 1, 2], ids=["runner", "one slot", "the other"])
async def test_the_death_of_a_runner_or_slot_is_a_sandbox_fault(
    pairs: PairBoxes, victim: int
) -> None:
    run = asyncio.create_task(pairs.run("echo", "ask:2000000000"))
    await until(lambda: len(processes_under(pairs.boxes.runner_pid)) == IDLE_PROCESSES + 2)
    runner = pairs.boxes.runner_pid
    parts = [runner, *sorted(children(runner))]
    os.kill(parts[victim], signal.SIGKILL)
    with pytest.raises(SandboxFault):
        await run
    assert codes(await pairs.run("echo", "ask:3 exit:42")) == (0, 42)


def children(pid: int) -> list[int]:
    return [
        int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    ]


# -- boxes --


async def test_a_pair_needs_two_boxes() -> None:
    async with Boxes.open(slots=1, runner=RUNNER) as boxes:
        with pytest.raises(Refused, match="two boxes"):
            await boxes.run_pair(
                shell("true"), shell("true"), wall_s=1, cancel_program_if=lambda _: False
            )


@pytest.mark.parametrize("slots", [2, 3])
async def test_pairs_and_single_runs_do_not_deadlock(
    slots: int, build: Callable[[Path], Path]
) -> None:
    async with Boxes.open(slots=slots, runner=RUNNER) as boxes:
        two_boxes = PairBoxes(boxes, build(TALKER))
        async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
            pairs = [
                group.create_task(two_boxes.run("echo", "ask:9 exit:42")) for _ in range(12)
            ]
            runs = [group.create_task(boxes.run(shell("echo x"))) for _ in range(12)]
    assert {codes(pair.result()) for pair in pairs} == {(0, 42)}
    assert {run.result().stdout for run in runs} == {b"x\n"}


async def test_pairs_leave_no_descriptor_open(pairs: PairBoxes) -> None:
    await pairs.run("echo", "ask:3 exit:42")
    before = open_files(), open_files(pairs.boxes.runner_pid)
    for _ in range(10):
        await pairs.run("echo", "ask:3 exit:42")
        await pairs.run("read", "read", wall_s=0.01)
        with suppress(SandboxFault):
            await pairs.run(Command(("/none",)), "sleep")
    await pairs.boxes.run(shell("true"))
    assert open_files() == before[0]
    # On a busy machine the runner may have been making its second slot when it was first asked.
    assert open_files(pairs.boxes.runner_pid) <= before[1]
