"""Runs that are made ready in one box while another program runs in the other."""

import os
import signal
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path

import pytest

from deemster.domain.run_status import RunStatus
from deemster.sandbox.boxes import Boxes, PreparedRun
from deemster.sandbox.command import Command
from deemster.sandbox.runner import SandboxFault
from tests.sandbox.conftest import RUNNER, open_files, processes_under, shell
from tests.waiting import until

pytestmark = pytest.mark.rootless


def ignore(_: bytes) -> None:
    pass


async def test_a_prepared_run_starts_when_the_one_before_has_ended() -> None:
    outputs = bytearray(), bytearray()
    async with (
        Boxes.open(slots=2, runner=RUNNER) as boxes,
        boxes.prepare_run(
            shell("sleep 0.3; cat"), stdin=b"one", stdout=outputs[0].extend, stderr=ignore
        ) as first,
        boxes.prepare_run(
            shell("cat"), stdin=b"two", stdout=outputs[1].extend, stderr=ignore
        ) as second,
    ):
        first.start()
        second.start_when_ended(first)
        assert second.in_slot.sent is None
        one = await first.report()
        assert second.in_slot.sent is not None, "it did not wait for whoever wants the report"
        two = await second.report()
    assert (one.status, two.status) == (RunStatus.OK, RunStatus.OK)
    assert (bytes(outputs[0]), bytes(outputs[1])) == (b"one", b"two")
    assert two.ended_ns - two.wall_ns > one.ended_ns


async def test_a_run_after_one_that_has_ended_starts_at_once() -> None:
    async with (
        Boxes.open(slots=2, runner=RUNNER) as boxes,
        prepared(boxes, shell("true")) as first,
        prepared(boxes, shell("exit 3")) as second,
    ):
        first.start()
        await first.report()
        second.start_when_ended(first)
        assert (await second.report()).exit_code == 3


async def test_x2_a_run_ends_with_its_block_and_its_box_is_used_again() -> None:
    """X2: nothing of a program that was started for nothing is left."""
    async with Boxes.open(slots=2, runner=RUNNER) as boxes:
        async with prepared(boxes, shell("true")), prepared(boxes, shell("true")):
            pass  # both boxes are there now
        files = open_files()
        async with (
            prepared(boxes, shell("true")) as first,
            prepared(boxes, shell("sleep 1000 & sleep 1000")) as second,
        ):
            first.start()
            second.start_when_ended(first)
            await first.report()
        reports = [await boxes.run(shell("echo /proc/[0-9]*")) for _ in range(4)]
        assert {report.stdout for report in reports} == {reports[0].stdout}
        await until(lambda: b"sleep" not in names_under(boxes.runner_pid), patience_s=60)
        assert open_files() == files


async def test_a_run_that_is_never_started_leaves_nothing() -> None:
    async with Boxes.open(slots=2, runner=RUNNER) as boxes:
        async with prepared(boxes, shell("true")), prepared(boxes, shell("true")):
            pass  # both boxes are there now
        files = open_files()
        async with prepared(boxes, shell("echo never")):
            pass
        assert open_files() == files
        assert [(await boxes.run(shell("echo hi"))).stdout for _ in range(3)] == [b"hi\n"] * 3


async def test_no_run_starts_after_one_that_was_lost() -> None:
    """What the sandbox failed at is repeated as a whole."""
    async with Boxes.open(slots=2, runner=RUNNER) as boxes:
        async with (
            prepared(boxes, shell("sleep 1000")) as first,
            prepared(boxes, shell("true")) as second,
        ):
            first.start()
            second.start_when_ended(first)
            os.kill(first.slot.spawner_pid, signal.SIGKILL)
            with pytest.raises(SandboxFault):
                await first.report()
            assert second.in_slot.sent is None
        assert (await boxes.run(shell("echo hi"))).stdout == b"hi\n"


def names_under(pid: int) -> set[bytes]:
    found = set()
    for process in processes_under(pid):
        with suppress(OSError):  # it has just ended
            found.add(Path(f"/proc/{process}/comm").read_bytes().strip())
    return found


def prepared(boxes: Boxes, command: Command) -> AbstractAsyncContextManager[PreparedRun]:
    return boxes.prepare_run(command, stdin=b"", stdout=ignore, stderr=ignore)
