"""Programs with low priority get only CPU time that nobody else wants."""

import asyncio
import os

from deemster.domain.limits import Limits
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Command
from tests.sandbox.conftest import RUNNER
from tests.waiting import PATIENCE_S

CORE = sorted(os.sched_getaffinity(0))[:1]
BUSY = Command(
    ("/bin/sh", "-c", "while :; do :; done"), limits=Limits(cpu_ms=60_000, wall_ms=2000)
)


async def test_programs_with_low_priority_leave_the_core_to_others() -> None:
    """Both want one core the whole time; a nice value alone does not decide between cgroups."""
    async with (
        Boxes.open(cpus=CORE, runner=RUNNER) as normal,
        Boxes.open(cpus=CORE, runner=RUNNER, low_priority=True) as low,
        asyncio.timeout(PATIENCE_S),
    ):
        reports = await asyncio.gather(normal.run(BUSY), low.run(BUSY))
        priority = await asyncio.to_thread(os.getpriority, os.PRIO_PROCESS, low.runner_pid)
    assert priority == 19
    assert reports[1].cpu_ns < reports[0].cpu_ns / 4
