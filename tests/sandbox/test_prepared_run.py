"""Runs that are made ready in one box while another program runs in the other."""

import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from pathlib import Path

import pytest

from deemster.domain.run_status import RunStatus
from deemster.sandbox.activity import program_threads
from deemster.sandbox.boxes import Boxes, PreparedRun
from deemster.sandbox.command import Command
from deemster.sandbox.runner import SandboxFault
from deemster.sandbox.streams import Sink
from tests.sandbox.conftest import RUNNER, open_files, processes_under, shell
from tests.waiting import until

pytestmark = pytest.mark.rootless


def ignore(_: bytes) -> None:
    pass


async def test_a_prepared_run_starts_when_the_one_before_has_ended() -> None:
    outputs = bytearray(), bytearray()
    async with (
        Boxes.open(slots=2, runner=RUNNER) as boxes,
        prepared(boxes, shell("sleep 0.3; cat"), b"one", outputs[0].extend) as first,
        prepared(boxes, shell("cat"), b"two", outputs[1].extend) as second,
    ):
        first.start()
        second.start_when_ended(first)
        one, two = await first.report(), await second.report()
    assert (one.status, two.status) == (RunStatus.OK, RunStatus.OK)
    assert (bytes(outputs[0]), bytes(outputs[1])) == (b"one", b"two")
    assert two.started_ns > one.ended_ns


async def test_the_next_run_does_not_wait_for_this_process() -> None:
    """Where an init stays for the next run, it lets that run start."""
    async with Boxes.open(slots=2, runner=RUNNER) as boxes:
        if not await keeps_inits(boxes):
            pytest.skip("every run gets an init of its own here")
        async with (
            prepared(boxes, shell("sleep 0.1")) as first,
            prepared(boxes, shell("sleep 1000")) as second,
        ):
            first.start()
            second.start_when_ended(first)
            deadline = time.monotonic() + 60
            while not any(program_threads(second.slot.spawner_pid)):
                assert time.monotonic() < deadline, "it did not start"
                time.sleep(0.01)  # noqa: ASYNC251 - this process reads no report meanwhile
            assert first.in_slot.sent is not None
            assert not first.in_slot.sent.done()


async def test_a_run_that_leaves_processes_lets_the_next_one_start() -> None:
    """Its init ends, so this process has to tell the next run."""
    async with (
        Boxes.open(slots=2, runner=RUNNER) as boxes,
        prepared(boxes, shell("sleep 1000 & exit 4")) as first,
        prepared(boxes, shell("exit 5")) as second,
    ):
        first.start()
        second.start_when_ended(first)
        one, two = await first.report(), await second.report()
    assert (one.exit_code, two.exit_code) == (4, 5)
    assert two.started_ns > one.ended_ns


async def test_a_run_that_waits_can_be_ended() -> None:
    async with Boxes.open(slots=2, runner=RUNNER) as boxes:
        output = bytearray()
        async with prepared(boxes, shell("sleep 0.5; echo one")) as first:
            async with prepared(boxes, shell("echo two"), stdout=output.extend) as second:
                first.start()
                second.start_when_ended(first)
            assert (await boxes.run(shell("echo three"))).stdout == b"three\n"
            assert (await first.report()).status is RunStatus.OK
        assert not output


async def test_a_signal_to_a_run_that_waits_is_ignored() -> None:
    async with (
        Boxes.open(slots=2, runner=RUNNER) as boxes,
        prepared(boxes, shell("sleep 0.3")) as first,
        prepared(boxes, shell("exit 6")) as second,
    ):
        first.start()
        second.start_when_ended(first)
        for number in (signal.SIGKILL, signal.SIGTERM):
            second.slot.send_signal(number)
        await first.report()
        assert (await second.report()).exit_code == 6


async def test_x1_a_program_sees_nothing_of_the_events() -> None:
    """X1: it has the same descriptors as any other."""
    command = shell("echo /proc/self/fd/* /proc/[0-9]*")
    output = bytearray()
    async with (
        Boxes.open(slots=2, runner=RUNNER) as boxes,
        prepared(boxes, shell("true")) as first,
        prepared(boxes, command, stdout=output.extend) as second,
    ):
        first.start()
        second.start_when_ended(first)
        await first.report()
        await second.report()
    async with Boxes.open(runner=RUNNER) as boxes:
        assert bytes(output) == (await boxes.run(command)).stdout


async def test_the_runs_of_a_long_sequence_never_overlap() -> None:
    async with Boxes.open(slots=2, runner=RUNNER) as boxes, AsyncExitStack() as first:
        async with prepared(boxes, shell("true")), prepared(boxes, shell("true")):
            pass  # both boxes are there now
        tree = processes_under(boxes.runner_pid) if await keeps_inits(boxes) else []

        def files() -> list[int]:
            return [open_files(), *map(open_files, tree)]

        before = files()
        current = await first.enter_async_context(prepared(boxes, shell("true")))
        current.start()
        ended_ns, current_stack = 0, first.pop_all()
        for code in range(100):
            async with current_stack:
                following = AsyncExitStack()
                ahead = await following.enter_async_context(
                    prepared(boxes, shell(f"exit {code}"))
                )
                ahead.start_when_ended(current)
                report = await current.report()
                assert report.started_ns > ended_ns
                ended_ns = report.ended_ns
            current, current_stack = ahead, following
        assert (await current.report()).exit_code == 99
        await current_stack.aclose()
        # An init closes what it got after it has reported.
        await until(lambda: files() == before, patience_s=60)


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
            # The lost box was replaced, so this process has dealt with the loss.
            assert (await boxes.run(shell("echo hi"))).stdout == b"hi\n"
            assert not any(program_threads(second.slot.spawner_pid))
            assert second.in_slot.sent is not None
            assert not second.in_slot.sent.done()
        assert (await boxes.run(shell("echo hi"))).stdout == b"hi\n"


async def test_the_box_of_a_run_that_waits_can_be_lost() -> None:
    async with Boxes.open(slots=2, runner=RUNNER) as boxes:
        async with (
            prepared(boxes, shell("sleep 0.3; exit 7")) as first,
            prepared(boxes, shell("true")) as second,
        ):
            first.start()
            second.start_when_ended(first)
            os.kill(second.slot.spawner_pid, signal.SIGKILL)
            assert (await first.report()).exit_code == 7
            with pytest.raises(SandboxFault):
                await second.report()
        assert (await boxes.run(shell("echo hi"))).stdout == b"hi\n"


async def keeps_inits(boxes: Boxes) -> bool:
    """Whether the programs of a box have the same init, and so the same namespace."""
    async with prepared(boxes, shell("true")):  # so that only one box is free
        command = shell("readlink /proc/self/ns/pid")
        namespaces = [(await boxes.run(command)).stdout for _ in range(2)]
    assert all(namespaces)
    return namespaces[0] == namespaces[1]


def names_under(pid: int) -> set[bytes]:
    found = set()
    for process in processes_under(pid):
        with suppress(OSError):  # it has just ended
            found.add(Path(f"/proc/{process}/comm").read_bytes().strip())
    return found


@asynccontextmanager
async def prepared(
    boxes: Boxes, command: Command, stdin: bytes = b"", stdout: Sink = ignore
) -> AsyncIterator[PreparedRun]:
    run = await boxes.prepare_run(command, stdin=stdin, stdout=stdout, stderr=ignore)
    with closing(run):
        yield run
