"""Programs with low priority get only CPU time that nobody else wants."""

import asyncio
import os
from dataclasses import replace

from deemster.sandbox.boxes import Boxes
from tests.sandbox.conftest import PATIENT, RUNNER, shell
from tests.waiting import PATIENCE_S

CORE = sorted(os.sched_getaffinity(0))[:1]
BUSY = shell("echo busy; while :; do :; done")


async def test_programs_with_low_priority_leave_the_core_to_others() -> None:
    """Both want one core the whole time; a nice value alone does not decide between cgroups.

    The other program runs before and after it: on a busy machine they start at other times.
    """
    async with (
        Boxes.open(cpus=CORE, runner=RUNNER) as normal,
        Boxes.open(cpus=CORE, runner=RUNNER, low_priority=True) as low,
        asyncio.timeout(PATIENCE_S),
    ):
        async with normal.open_terminal(BUSY) as other:
            assert await other.read()
            yielding = await low.run(replace(BUSY, limits=replace(PATIENT, wall_ms=2_000)))
            other.cancel()
            busy = await other.report()
        priority = await asyncio.to_thread(os.getpriority, os.PRIO_PROCESS, low.runner_pid)
    assert priority == 19
    assert yielding.cpu_ns < busy.cpu_ns / 4
