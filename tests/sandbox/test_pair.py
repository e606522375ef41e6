"""Pairs: who ended first, who is to blame, and that nobody waits for the dead.

Both sides are talker.c; its head has the words of these little dialogues.
"""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
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
from deemster.sandbox.report import Report
from deemster.sandbox.runner import SandboxFault
from tests.sandbox.conftest import PATIENT, RUNNER, SLOWNESS, open_files, processes_under, shell
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.rootless

TALKER = Path(__file__).parent / "talker.c"
SHORT_S = 0.3 * SLOWNESS
RESTING = 5
"""The runner, two spawners, and their next inits."""
ONE_CORE = "one core"
TIMES = 200
LOOK_US = 20_000
"""How often init looks at a pair's pipes: see HOLD_LOOK_NS."""


class Stage:
    """Two boxes, and what is said in them."""

    def __init__(self, boxes: Boxes, code: Path) -> None:
        self.boxes = boxes
        self.code = code

    def says(self, words: str) -> Command:
        return Command(("/code/attack", *words.split()), limits=PATIENT, code=self.code)

    async def play(
        self,
        program: str | Command,
        companion: str | Command,
        *,
        wall_s: float = PATIENCE_S,
        ends: bool = False,
        drain_unread: bool = False,
    ) -> Pair:
        """`ends`: what the companion says ends the program too."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.boxes.run_pair(
                self.says(program) if isinstance(program, str) else program,
                self.says(companion) if isinstance(companion, str) else companion,
                wall_s=wall_s,
                cancel_program_if=lambda _: ends,
                drain_unread=drain_unread,
            )


@pytest.fixture
async def stage(
    build: Callable[[Path], Path], request: pytest.FixtureRequest
) -> AsyncIterator[Stage]:
    if getattr(request, "param", "") == ONE_CORE:
        async with Lanes.open(1, runner=RUNNER) as lanes, lanes.acquire() as boxes:
            yield Stage(boxes, build(TALKER))
    else:
        async with Boxes.open(slots=2, runner=RUNNER) as boxes:
            yield Stage(boxes, build(TALKER))


on_one_core_and_more = pytest.mark.parametrize("stage", [ONE_CORE, "all cores"], indirect=True)


def codes(pair: Pair) -> tuple[int | None, int | None]:
    return pair.program.exit_code, pair.companion.exit_code


# -- talking --


async def test_two_talk_to_each_other(stage: Stage) -> None:
    pair = await stage.play("echo", "ask:20000 exit:42")
    assert codes(pair) == (0, 42)
    assert not pair.hung
    assert pair.blame is None


@pytest.mark.soak
@on_one_core_and_more
async def test_what_a_round_costs(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    pair = await stage.play("echo", "ask:200000 exit:42")
    assert codes(pair) == (0, 42)
    with capsys.disabled():
        print(f"\na round costs {pair.companion.wall_ns / 200_000:.0f} ns")


async def test_both_are_metered_and_their_words_on_stderr_kept(stage: Stage) -> None:
    heard: list[bytes] = []
    pair = await stage.boxes.run_pair(
        shell("echo mine >&2; read a; echo $a; cat"),
        shell("echo yours >&2; echo question; read b; echo $b >&2"),
        wall_s=PATIENCE_S,
        cancel_program_if=lambda _: False,
        companion_stderr=heard.append,
    )
    assert pair.program.stderr == b"mine\n"
    assert b"".join(heard) == b"yours\nquestion\n"
    assert pair.companion.stderr == pair.program.stdout == pair.companion.stdout == b""
    for report in (pair.program, pair.companion):
        assert report.status is RunStatus.OK
        assert report.cpu_ns > 0
        assert report.wall_ns > 0
        assert report.started_ns < report.ended_ns <= time.monotonic_ns()


async def test_a_pair_begins_together_after_both_stagings(stage: Stage) -> None:
    staged_ns: list[int] = []
    found: list[bytes] = []

    def put(scratch: int) -> None:
        os.close(os.open("staged", os.O_CREAT | os.O_WRONLY, dir_fd=scratch))
        staged_ns.append(time.monotonic_ns())

    def collect(scratch: int) -> None:
        with os.fdopen(os.open("verdict", os.O_RDONLY, dir_fd=scratch), "rb") as file:
            found.append(file.read())

    pair = await stage.boxes.run_pair(
        shell("ls; exec >/dev/null; cat"),
        shell("ls; cat /data/attack > copy; cat > verdict", data=stage.code),
        wall_s=PATIENCE_S,
        cancel_program_if=lambda _: False,
        stage=put,
        collect=collect,
        program_stage=put,
    )
    assert not pair.hung
    assert found == [b"staged\n"]
    assert len(staged_ns) == 2
    assert max(staged_ns) <= min(pair.program.started_ns, pair.companion.started_ns)
    assert (await stage.boxes.run(shell("ls -A /work /data"))).stdout == b"/data:\n\n/work:\n"


# -- who was first --

ORDERS = {
    "the program crashes, the companion hears its end": ("crash", "drain exit:1", "program"),
    "the program leaves, the companion hears its end": ("exit:3", "drain exit:1", "program"),
    "the program crashes, the companion can't write": ("crash", "push exit:1", "program"),
    "the program ends with a child": ("child exit:3", "drain exit:1", "program"),
    "the companion leaves, the program crashes": ("drain crash", "exit:43", "companion"),
    "the companion leaves, the program can't write": ("push crash", "exit:43", "companion"),
    "the companion crashes, the program leaves": ("drain exit:3", "crash", "companion"),
    "the companion ends with a child": ("drain exit:3", "child exit:1", "companion"),
    "an answer, then the program crashes": ("hear say:x crash", "say:x drain", "program"),
    "an answer, then the companion leaves": (
        "hear say:x drain crash",
        "say:x hear exit:43",
        "companion",
    ),
}


@pytest.mark.parametrize("case", ORDERS)
@on_one_core_and_more
async def test_the_cause_always_ends_before_its_consequence(case: str, stage: Stage) -> None:
    program, companion, first = ORDERS[case]
    for _ in range(TIMES):
        pair = await stage.play(program, companion)
        assert pair.ended_first == first, pair
        assert not pair.hung
        crashed = "crash" in program
        assert pair.program.signal == (signal.SIGSEGV if crashed else None), pair


@pytest.mark.parametrize("companion", ["drain exit:1", "push exit:1"])
async def test_the_cause_ends_first_also_in_the_moment_of_a_look(
    stage: Stage, companion: str
) -> None:
    """A program with its stdout elsewhere is looked at closely, and dies just then."""
    for turn in range(TIMES):
        nap_us = LOOK_US - 1_500 + 15 * turn
        pair = await stage.play(f"move nap:{nap_us} crash", companion)
        assert pair.ended_first == "program", pair


# -- who closes what --

CLOSINGS = {
    "the program's stdout": ("mute hear exit:7", "drain say:bye exit:42", (7, 42)),
    "the program's stdin": ("deaf hear exit:7", "push exit:42", (90, 42)),
    "the companion's stdout": ("drain say:bye exit:7", "mute hear exit:42", (7, 42)),
    "the companion's stdin": ("push exit:7", "deaf hear exit:42", (7, 90)),
    "a moved stdout": ("move mute hear exit:7", "drain say:bye exit:42", (7, 42)),
    "a child's stdout": ("last:word hear exit:7", "hear drain say:bye exit:42", (7, 42)),
    "all of it": ("mute deaf exit:7", "drain push exit:42", (7, 42)),
}


@pytest.mark.parametrize("case", CLOSINGS)
async def test_who_closes_an_end_and_lives_on_is_heard(stage: Stage, case: str) -> None:
    program, companion, expected = CLOSINGS[case]
    pair = await stage.play(program, companion)
    assert codes(pair) == expected
    assert not pair.hung


@pytest.mark.parametrize("word", ["mute", "deaf"])
async def test_a_closed_end_is_seen_while_its_closer_sleeps(stage: Stage, word: str) -> None:
    other = "drain exit:42" if word == "mute" else "push exit:42"
    pair = await stage.play(f"{word} pause", other, ends=True)
    assert (pair.ended_first, pair.companion.exit_code) == ("companion", 42)
    assert pair.program.status is RunStatus.CANCELLED
    pair = await stage.play(other, f"{word} pause", wall_s=SHORT_S)
    assert (pair.ended_first, pair.program.exit_code) == ("program", 42)
    assert (pair.hung, pair.blame) == (True, "companion")


async def test_an_end_that_was_moved_is_still_open(stage: Stage) -> None:
    """Over several looks, of which each lets go of the pipe for a moment."""
    nap = f"nap:{5 * LOOK_US}"
    pair = await stage.play(f"move {nap} say:x {nap} say:y {nap}", "hear hear drain exit:42")
    assert codes(pair) == (0, 42)


async def test_a_rebel_harms_only_itself(stage: Stage) -> None:
    """Its own ends, opened again and changed in all ways, are nothing to the companion."""
    pair = await stage.play("rebel nap:50000 say:x exit:3", "hear drain push exit:42")
    assert codes(pair) == (3, 42)
    assert pair.ended_first == "program"
    pair = await stage.play("rebel pause", "hear", wall_s=SHORT_S)
    assert (pair.hung, pair.blame) == (True, "program")


LONG = "tell:1000"
"""Much more than a pipe holds."""


@pytest.mark.parametrize("program", ["exit:7", "crash", "deaf nap:50000 exit:7"])
async def test_a_companion_can_be_let_talk_to_nobody(stage: Stage, program: str) -> None:
    pair = await stage.play(program, f"{LONG} exit:42")
    assert pair.companion.exit_code == 93
    pair = await stage.play(program, f"{LONG} drain exit:42", drain_unread=True)
    assert pair.companion.exit_code == 42
    assert (pair.ended_first, pair.hung) == ("program", False)


async def test_who_is_let_talk_to_nobody_is_still_heard_by_who_listens(stage: Stage) -> None:
    pair = await stage.boxes.run_pair(
        shell("cksum >&2"),
        shell("cat /code/attack", code=stage.code),
        wall_s=PATIENCE_S,
        cancel_program_if=lambda _: False,
        drain_unread=True,
    )
    expected = await stage.boxes.run(shell("cksum < /code/attack", code=stage.code))
    assert pair.program.stderr == expected.stdout
    assert pair.companion.status is RunStatus.OK


async def test_who_talks_to_a_deaf_one_that_lives_is_not_to_blame(stage: Stage) -> None:
    pair = await stage.play("deaf pause", LONG, wall_s=SHORT_S, drain_unread=True)
    assert (pair.hung, pair.blame) == (True, "program")


# -- who decides --


async def test_the_companions_word_ends_the_program(stage: Stage) -> None:
    asked: list[Report] = []

    def decide(report: Report) -> bool:
        asked.append(report)
        return True

    pair = await stage.boxes.run_pair(
        stage.says("pause"), stage.says("exit:43"), wall_s=PATIENCE_S, cancel_program_if=decide
    )
    assert pair.program.status is RunStatus.CANCELLED
    assert [report.exit_code for report in asked] == [43]
    assert (pair.ended_first, pair.hung, pair.blame) == ("companion", False, None)


async def test_a_program_that_may_goes_on_to_its_own_end(stage: Stage) -> None:
    pair = await stage.play("drain nap:100000 exit:3", "exit:42")
    assert (codes(pair), pair.ended_first) == ((3, 42), "companion")


async def test_nobody_is_asked_when_the_program_ended_first(stage: Stage) -> None:
    def decide(report: Report) -> bool:
        pytest.fail(f"asked about {report}")

    pair = await stage.boxes.run_pair(
        stage.says("exit:3"),
        stage.says("drain nap:100000 exit:42"),
        wall_s=PATIENCE_S,
        cancel_program_if=decide,
    )
    assert codes(pair) == (3, 42)


async def test_what_the_decider_raises_ends_both(stage: Stage) -> None:
    def decide(_: Report) -> bool:
        raise ValueError("can't say")

    with pytest.raises(ValueError, match="can't say"):
        await stage.boxes.run_pair(
            stage.says("pause"),
            stage.says("exit:1"),
            wall_s=PATIENCE_S,
            cancel_program_if=decide,
        )
    assert codes(await stage.play("echo", "ask:3 exit:42")) == (0, 42)


# -- who is to blame --

HANGS = {
    "both read": ("hear", "hear", "program"),
    "the program sleeps": ("pause", "hear", "program"),
    "the program never reads": ("flood", "echo", "program"),
    "the program neither reads nor writes": ("pause", "flood", "program"),
    "both only write": ("flood", "flood", "program"),
    "the program has not said enough": ("say:x hear hear", "hear say:y hear", "program"),
    "the companion sleeps over a question": ("say:x hear", "pause", "companion"),
    "the companion sleeps over many": ("flood", "pause", "companion"),
    "the companion sleeps after the end": ("mute hear", "drain pause", "companion"),
    "the companion sleeps before the end": ("say:x mute hear", "pause", "companion"),
    "the companion never stops talking": ("drain", "flood", "companion"),
    "the companion talks slowly and for ever": ("drain", "drip", "companion"),
    "the companion outlives the program": ("exit:0", "drain pause", "companion"),
    "the program outlives the companion": ("drain pause", "exit:42", "program"),
}


@pytest.mark.parametrize("case", HANGS)
async def test_a_hung_pair_has_one_to_blame(stage: Stage, case: str) -> None:
    program, companion, blame = HANGS[case]
    pair = await stage.play(program, companion, wall_s=SHORT_S)
    assert (pair.hung, pair.blame) == (True, blame), pair
    assert RunStatus.CANCELLED in {pair.program.status, pair.companion.status}
    assert codes(await stage.play("echo", "ask:3 exit:42")) == (0, 42)


async def test_who_floods_is_to_blame_though_it_is_read_slowly(stage: Stage) -> None:
    pair = await stage.play("flood", "sip", wall_s=SHORT_S)
    assert (pair.hung, pair.blame, pair.flooded) == (True, "program", True)


@pytest.mark.parametrize("program", ["flood", "drip", "say:x pause", "say:x mute pause"])
async def test_who_reads_nothing_is_to_blame_however_much_there_is(
    stage: Stage, program: str
) -> None:
    pair = await stage.play(program, "pause", wall_s=SHORT_S)
    assert (pair.hung, pair.blame, pair.flooded) == (True, "companion", False)


async def test_the_clock_ends_two_who_never_stop_talking(stage: Stage) -> None:
    pair = await stage.play("echo", "ask:2000000000", wall_s=SHORT_S)
    assert (pair.hung, pair.blame, pair.flooded) == (True, "program", False)


@pytest.mark.parametrize(
    ("limits", "words", "status"),
    [
        (replace(PATIENT, cpu_ms=100), "burn", RunStatus.TIME_LIMIT),
        (replace(PATIENT, wall_ms=200), "pause", RunStatus.WALL_LIMIT),
    ],
    ids=["CPU time", "wall time"],
)
async def test_each_keeps_to_its_own_limits(
    stage: Stage, limits: object, words: str, status: RunStatus
) -> None:
    limited = replace(stage.says(words), limits=limits)  # type: ignore[arg-type]
    pair = await stage.play(limited, "drain exit:1")
    assert (pair.program.status, pair.companion.exit_code) == (status, 1)
    assert pair.ended_first == "program"
    assert not pair.hung
    pair = await stage.play("drain exit:1", limited)
    assert (pair.companion.status, pair.program.exit_code) == (status, 1)
    assert pair.ended_first == "companion"


# -- deaths and departures --


async def test_a_pair_cancelled_at_any_moment_gives_both_boxes_back(stage: Stage) -> None:
    for turns in range(60):
        run = asyncio.create_task(
            stage.boxes.run_pair(
                stage.says("echo"),
                stage.says("ask:1000000"),
                wall_s=PATIENCE_S,
                cancel_program_if=lambda _: False,
                stage=os.listdir if turns % 2 else None,
                collect=os.listdir if turns % 3 else None,
            )
        )
        for _ in range(turns):
            await asyncio.sleep(0.0002)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
    assert codes(await stage.play("echo", "ask:3 exit:42")) == (0, 42)
    await until(lambda: len(processes_under(stage.boxes.runner_pid)) == RESTING)


@pytest.mark.parametrize("missing", ["program", "companion"])
async def test_if_one_cannot_start_the_other_is_ended(stage: Stage, missing: str) -> None:
    none = Command(("/code/none",), limits=PATIENT, code=TALKER.parent)
    there = stage.says("pause")
    both = (none, there) if missing == "program" else (there, none)
    with pytest.raises(SandboxFault, match="program-exec"):
        await stage.play(*both)
    assert codes(await stage.play("echo", "ask:3 exit:42")) == (0, 42)


async def test_what_a_stage_raises_ends_both(stage: Stage) -> None:
    def fail(_: int) -> None:
        raise ValueError("no room")

    for at in ("stage", "program_stage"):
        with pytest.raises(ValueError, match="no room"):
            await stage.boxes.run_pair(
                stage.says("pause"),
                stage.says("pause"),
                wall_s=PATIENCE_S,
                cancel_program_if=lambda _: False,
                **{at: fail},  # type: ignore[arg-type]
            )
    assert codes(await stage.play("echo", "ask:3 exit:42")) == (0, 42)


@pytest.mark.parametrize("victim", [0, 1, 2], ids=["runner", "one slot", "the other"])
async def test_the_death_of_a_part_is_ours_to_retry(stage: Stage, victim: int) -> None:
    run = asyncio.create_task(stage.play("echo", "ask:2000000000"))
    await until(lambda: len(processes_under(stage.boxes.runner_pid)) == RESTING + 2)
    runner = stage.boxes.runner_pid
    parts = [runner, *sorted(children(runner))]
    os.kill(parts[victim], signal.SIGKILL)
    with pytest.raises(SandboxFault):
        await run
    assert codes(await stage.play("echo", "ask:3 exit:42")) == (0, 42)


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
async def test_pairs_and_single_runs_never_wait_for_each_other_in_a_ring(
    slots: int, build: Callable[[Path], Path]
) -> None:
    async with Boxes.open(slots=slots, runner=RUNNER) as boxes:
        stage = Stage(boxes, build(TALKER))
        async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
            pairs = [group.create_task(stage.play("echo", "ask:9 exit:42")) for _ in range(12)]
            runs = [group.create_task(boxes.run(shell("echo x"))) for _ in range(12)]
    assert {codes(pair.result()) for pair in pairs} == {(0, 42)}
    assert {run.result().stdout for run in runs} == {b"x\n"}


async def test_pairs_leave_no_descriptor_open(stage: Stage) -> None:
    await stage.play("echo", "ask:3 exit:42")
    before = open_files(), open_files(stage.boxes.runner_pid)
    for _ in range(10):
        await stage.play("echo", "ask:3 exit:42")
        await stage.play("hear", "hear", wall_s=0.01)
        with suppress(SandboxFault):
            await stage.play(Command(("/none",)), "pause")
    await stage.boxes.run(shell("true"))
    assert (open_files(), open_files(stage.boxes.runner_pid)) == before
