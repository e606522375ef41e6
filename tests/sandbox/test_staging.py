"""Files can be put into the scratch before the program starts, with or without root."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from deemster.domain.limits import MIB
from deemster.domain.run_status import RunStatus
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Command
from deemster.sandbox.runner import SandboxFault
from deemster.sandbox.staging import Scratch
from tests.sandbox.conftest import PATIENT, RUNNER, RunnerTree, open_files, shell
from tests.waiting import PATIENCE_S, until, wait_until

pytestmark = pytest.mark.rootless


@pytest.fixture
async def boxes() -> AsyncIterator[Boxes]:
    async with Boxes.open(runner=RUNNER) as opened:
        yield opened


def put(scratch: Scratch, name: str, data: bytes) -> None:
    with scratch.new_file(name, 0o600) as fd, os.fdopen(os.dup(fd), "wb") as file:
        file.write(data)


def put_nothing(_: Scratch) -> None:
    pass


def make_private(folder: Path) -> Path:
    private = folder / "private"
    private.write_bytes(b"jury")
    private.chmod(0o600)
    folder.chmod(0o700)
    return private


async def test_staged_files_belong_to_the_program(boxes: Boxes) -> None:
    def stage(scratch: Scratch) -> None:
        put(scratch, "input", b"staged\n")
        scratch.make_directory("sub", 0o700)
        put(scratch, "sub/deep", b"deep\n")

    script = (
        "cat input sub/deep; echo more >> input; tail -n 1 input; chmod 444 input; rm input; "
        "mv sub/deep deep; rmdir sub; ls; stat -c %u deep"
    )
    report = await boxes.run(shell(script), stage=stage)
    assert report.stdout.split() == [b"staged", b"deep", b"more", b"deep", b"1000"]
    assert report.stderr == b""
    assert (await boxes.run(shell("ls -A"))).stdout == b""


async def test_a_stage_can_read_files_that_the_program_cannot(
    boxes: Boxes, tmp_path: Path
) -> None:
    private = make_private(tmp_path)
    report = await boxes.run(
        shell("cat it"), stage=lambda scratch: put(scratch, "it", private.read_bytes())
    )
    assert report.stdout == b"jury"


@pytest.mark.parametrize(
    "name", ["../x", "a/../x", "/x", "a//x", ".", "..", "", "out/x", "file/x", "x" * 300]
)
async def test_staging_never_leaves_the_scratch(boxes: Boxes, name: str) -> None:
    """X7: whatever the names, and whatever links were staged before."""
    refused: list[OSError] = []

    def stage(scratch: Scratch) -> None:
        scratch.make_directory("a")
        scratch.make_link("out", "/")
        put(scratch, "file", b"")
        for make in (partial(put, data=b""), Scratch.make_directory):
            try:
                make(scratch, name)
            except OSError as fault:
                refused.append(fault)

    report = await boxes.run(shell("ls; readlink out; stat -c %u out a"), stage=stage)
    assert report.stdout.split() == [b"a", b"file", b"out", b"/", b"1000", b"1000"]
    assert len(refused) == 2


async def test_the_clocks_start_after_staging(boxes: Boxes) -> None:
    staged_ns = 0

    def stage(scratch: Scratch) -> None:
        nonlocal staged_ns
        put(scratch, "big", bytes(8 * MIB))
        staged_ns = time.monotonic_ns()

    report = await boxes.run(shell("true"), stage=stage)
    assert staged_ns <= report.started_ns <= report.ended_ns <= time.monotonic_ns()
    assert report.status is RunStatus.OK


async def test_staged_files_do_not_count_as_memory_of_the_program(boxes: Boxes) -> None:
    limits = replace(PATIENT, memory_bytes=16 * MIB)
    report = await boxes.run(
        shell("wc -c < big", limits), stage=lambda scratch: put(scratch, "big", bytes(32 * MIB))
    )
    assert (report.status, report.stdout.strip()) == (RunStatus.OK, str(32 * MIB).encode())
    assert report.memory_bytes < 16 * MIB


async def test_staging_respects_the_quota(boxes: Boxes) -> None:
    limits = replace(PATIENT, scratch_bytes=MIB)
    with pytest.raises(OSError, match="No space"):
        await boxes.run(
            shell("true", limits), stage=lambda scratch: put(scratch, "big", bytes(2 * MIB))
        )
    assert (await boxes.run(shell("ls -A"))).stdout == b""


async def test_an_exception_of_a_stage_is_raised_and_the_box_stays_usable(boxes: Boxes) -> None:
    seen = bytearray()

    def stage(scratch: Scratch) -> None:
        put(scratch, "half", b"x")
        raise ValueError("not what I wanted")

    for _ in range(5):
        with pytest.raises(ValueError, match="wanted"):
            await boxes.run(shell("echo ran"), stage=stage, stdout=seen.extend)
        assert (await boxes.run(shell("ls -A"))).stdout == b""
    assert seen == b""


async def test_a_run_cancelled_while_staging_harms_nobody(boxes: Boxes) -> None:
    """Nothing that the stage still writes turns up in the next run."""
    entered, leave = threading.Event(), threading.Event()
    seen = bytearray()

    def stage(scratch: Scratch) -> None:
        entered.set()
        assert leave.wait(PATIENCE_S)
        put(scratch, "secret", b"x")
        entered.clear()

    run = asyncio.create_task(boxes.run(shell("echo ran"), stage=stage, stdout=seen.extend))
    await until(entered.is_set)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    following = asyncio.create_task(boxes.run(shell("ls -A /work")))
    await asyncio.sleep(0)
    assert not following.done()
    leave.set()
    assert (await following).stdout == b""
    assert not entered.is_set()
    assert seen == b""


async def test_stages_cancelled_at_any_moment_do_not_lose_a_box(boxes: Boxes) -> None:
    for delay in range(60):
        run = asyncio.create_task(
            boxes.run(
                Command(("/bin/true",)),
                stage=lambda scratch: put(scratch, "x", b"x"),
                collect=os.listdir,
            )
        )
        for _ in range(delay):
            await asyncio.sleep(0.0002)
        run.cancel()
        with suppress(asyncio.CancelledError):
            await run
    async with asyncio.timeout(PATIENCE_S):
        assert (await boxes.run(shell("ls -A; echo still"))).stdout == b"still\n"


def kill_and_wait(runner: int) -> None:
    """Returns when the runner and all of its slots are dead."""
    tree = RunnerTree(runner)
    os.kill(runner, signal.SIGKILL)
    wait_until(lambda: not tree.alive())


async def test_a_runner_killed_while_staging_is_a_fault(boxes: Boxes) -> None:
    old = boxes.runner_pid

    def stage(scratch: Scratch) -> None:
        kill_and_wait(old)
        put(scratch, "x", b"x")

    with pytest.raises(SandboxFault):
        await boxes.run(shell("true"), stage=stage)
    assert (await boxes.run(shell("ls -A; echo again"))).stdout == b"again\n"
    assert boxes.runner_pid != old


async def test_an_exception_of_a_stage_outranks_the_death_of_its_box(boxes: Boxes) -> None:
    def stage(_: Scratch) -> None:
        kill_and_wait(boxes.runner_pid)
        raise ValueError("first")

    with pytest.raises(ValueError, match="first"):
        await boxes.run(shell("true"), stage=stage)
    assert (await boxes.run(shell("echo again"))).stdout == b"again\n"


async def test_staged_files_can_be_collected(boxes: Boxes) -> None:
    found: list[bytes] = []

    def collect(scratch: int) -> None:
        with os.fdopen(os.open("two", os.O_RDONLY, dir_fd=scratch), "rb") as file:
            found.append(file.read())

    stage = partial(put, name="one", data=b"moved")
    await boxes.run(shell("mv one two"), stage=stage, collect=collect)
    assert found == [b"moved"]


async def test_a_staged_program_that_cannot_start_is_a_fault(boxes: Boxes) -> None:
    with pytest.raises(SandboxFault, match="program-exec"):
        await boxes.run(
            Command(("/usr/bin/no-such-program",)),
            stage=lambda scratch: put(scratch, "x", b""),
        )
    assert (await boxes.run(shell("ls -A"))).stdout == b""


async def test_staging_leaves_no_descriptor_open(boxes: Boxes) -> None:
    def fail(_: Scratch) -> None:
        raise ValueError

    await boxes.run(shell("true"), stage=put_nothing)
    before = open_files()
    for _ in range(20):
        await boxes.run(shell("true"), stage=put_nothing)
        with suppress(ValueError):
            await boxes.run(shell("true"), stage=fail)
    await boxes.run(shell("true"))
    assert open_files() == before
