"""With root, each slot of a machine has uids of its own (X9)."""

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Command
from tests.sandbox.conftest import PATIENT, RUNNER, started
from tests.waiting import until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="without root there is one uid")


async def test_a_full_pipe_quota_reaches_no_slot_of_another_runner(
    build: Callable[[Path], Path],
) -> None:
    """X9: the kernel counts the pages of pipes for each uid of the host."""
    code = build(Path(__file__).parent / "pipes.c")
    many_files = replace(PATIENT, open_files=8192)
    greedy = Command(("/code/attack", "fill"), limits=many_files, code=code)
    modest = Command(("/code/attack",), limits=PATIENT, code=code)
    reader, writer = os.pipe()
    async with (
        Boxes.open(runner=RUNNER) as first,
        Boxes.open(runner=RUNNER) as second,
        asyncio.TaskGroup() as group,
    ):
        usual = (await second.run(modest)).stdout
        output = bytearray()
        run = group.create_task(first.run(greedy, stdin=reader, stdout=output.extend))
        await started(run, output)
        assert int(output) < int(usual), "the quota was not used up"
        assert (await second.run(modest)).stdout == usual
        os.close(writer)
        await run
    os.close(reader)


async def test_no_two_runners_have_a_uid_in_common() -> None:
    """X9: a runner that starts while others end gets uids that nobody has."""
    async with Boxes.open(slots=3, runner=RUNNER) as first:
        async with Boxes.open(runner=RUNNER) as second:
            assert not await host_uids(first) & await host_uids(second)
        async with Boxes.open(slots=2, runner=RUNNER) as third:
            assert not await host_uids(first) & await host_uids(third)


async def host_uids(boxes: Boxes) -> set[int]:
    """Waits for all slots and returns their uids: two for each."""
    await until(lambda: len(uids_below(boxes.runner_pid)) == 2 * boxes.slot_count)
    return uids_below(boxes.runner_pid)


def uids_below(runner: int) -> set[int]:
    children = Path(f"/proc/{runner}/task/{runner}/children").read_text()
    maps = [Path(f"/proc/{spawner}/uid_map").read_text() for spawner in children.split()]
    lines = [line.split() for text in maps for line in text.splitlines()]
    return {int(outside) for _, outside, _ in lines}
