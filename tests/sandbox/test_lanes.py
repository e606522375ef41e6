"""Lanes stay on their cores and are handed out in order."""

import asyncio
import os
import signal

import pytest

from deemster.sandbox.boxes import Boxes
from deemster.sandbox.lanes import BOXES_PER_LANE, Lanes, share_cpus
from deemster.sandbox.runner import SandboxFault
from tests.sandbox.conftest import RUNNER, RunnerTree, assert_gone, processes_under, shell
from tests.waiting import until

CPUS = sorted(os.sched_getaffinity(0))
CPUS_ALLOWED = "grep Cpus_allowed_list /proc/self/status"


async def cpus_allowed(boxes: Boxes) -> str:
    report = await boxes.run(shell(CPUS_ALLOWED))
    return report.stdout.decode().split()[-1]


async def test_each_lane_stays_on_its_own_core() -> None:
    async with Lanes.open(len(CPUS), runner=RUNNER) as lanes:
        seen: list[set[str]] = []

        async def look() -> None:
            async with lanes.acquire() as boxes:
                both = await asyncio.gather(*(cpus_allowed(boxes) for _ in range(8)))
                seen.append(set(both))

        async with asyncio.TaskGroup() as group:
            for _ in CPUS:
                group.create_task(look())
    assert sorted(seen, key=min) == sorted(({str(cpu)} for cpu in CPUS), key=min)


async def test_a_lane_stays_on_its_core_after_its_runner_was_killed() -> None:
    async with Lanes.open(1, runner=RUNNER) as lanes, lanes.acquire() as boxes:
        before = await cpus_allowed(boxes)
        old = boxes.runner_pid
        os.kill(old, signal.SIGKILL)
        await until(lambda: was_restarted(boxes, old))
        assert {await cpus_allowed(boxes) for _ in range(4)} == {before} == {str(CPUS[0])}


def was_restarted(boxes: Boxes, old: int) -> bool:
    """Each box has a spawner and an init."""
    everything = 1 + 2 * BOXES_PER_LANE
    try:
        return boxes.runner_pid != old and len(processes_under(boxes.runner_pid)) == everything
    except SandboxFault:
        return False


def test_with_more_lanes_than_cores_no_lane_has_a_core() -> None:
    assert share_cpus(len(CPUS) + 1) == [()] * (len(CPUS) + 1)
    assert share_cpus(len(CPUS)) == [(cpu,) for cpu in CPUS]
    assert share_cpus(1) == [(CPUS[0],)]


async def test_with_more_lanes_than_cores_runs_use_exclusively_cores() -> None:
    async with Lanes.open(len(CPUS) + 1, runner=RUNNER) as lanes, lanes.acquire() as boxes:
        report = await boxes.run(shell("nproc"))
        assert int(report.stdout) == len(CPUS)


async def test_a_lane_runs_two_programs_at_once() -> None:
    reader, writer = os.pipe()
    async with Lanes.open(1, runner=RUNNER) as lanes, lanes.acquire() as boxes:
        assert boxes.slot_count == BOXES_PER_LANE
        waiting = asyncio.create_task(boxes.run(shell("read a; echo $a"), stdin=reader))
        await boxes.run(shell("true"))
        os.write(writer, b"go\n")
        assert (await waiting).stdout == b"go\n"
    os.close(reader)
    os.close(writer)


async def test_exclusive_waits_for_all_lanes_and_is_not_overtaken() -> None:
    order: list[str] = []
    async with Lanes.open(2, runner=RUNNER) as lanes:

        async def use_one(name: str, leave: asyncio.Event) -> None:
            async with lanes.acquire() as boxes:
                order.append(name)
                await boxes.run(shell("true"))
                await leave.wait()

        async def use_exclusively() -> None:
            async with lanes.exclusive() as boxes:
                order.append("exclusive")
                await boxes.run(shell("true"))
                assert lanes._queue._free == []

        async with asyncio.TaskGroup() as group:
            leave, at_once = asyncio.Event(), asyncio.Event()
            at_once.set()
            group.create_task(use_one("first", leave))
            await until(lambda: order == ["first"])
            group.create_task(use_exclusively())
            await asyncio.sleep(0)
            for number in range(5):
                group.create_task(use_one(f"later {number}", at_once))
            await asyncio.sleep(0)
            assert order == ["first"]
            leave.set()
        assert order == ["first", "exclusive", *(f"later {number}" for number in range(5))]


async def test_a_cancelled_wait_does_not_block_later_requests() -> None:
    async with Lanes.open(2, runner=RUNNER) as lanes:
        async with lanes.acquire():

            async def use_exclusively() -> None:
                async with lanes.exclusive():
                    pytest.fail("another lane is in use")

            waiting = asyncio.create_task(use_exclusively())
            await asyncio.sleep(0)
            waiting.cancel()
            async with lanes.acquire() as boxes:
                assert (await boxes.run(shell("echo on"))).stdout == b"on\n"
            with pytest.raises(asyncio.CancelledError):
                await waiting
        async with lanes.exclusive() as boxes:
            assert (await boxes.run(shell("echo all"))).stdout == b"all\n"


async def test_an_exception_in_the_block_releases_the_lane() -> None:
    async with Lanes.open(1, runner=RUNNER) as lanes:
        for acquire in (lanes.acquire, lanes.exclusive):
            with pytest.raises(ValueError, match="mine"):
                async with acquire():
                    raise ValueError("mine")
        async with lanes.acquire() as boxes:
            assert (await boxes.run(shell("echo on"))).stdout == b"on\n"


async def test_x2_closed_lanes_leave_nothing() -> None:
    async with Lanes.open(2, runner=RUNNER) as lanes:
        async with lanes.acquire() as one, lanes.acquire() as other:
            trees = RunnerTree(one.runner_pid), RunnerTree(other.runner_pid)
            assert one.runner_pid != other.runner_pid
            await asyncio.gather(one.run(shell("true")), other.run(shell("true")))
        for tree in trees:
            tree.update()
    await assert_gone(*trees)
