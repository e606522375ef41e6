"""Without cgroups, rlimits and samples hold all processes of a run together to its limits."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from deemster.domain.limits import MIB
from deemster.domain.run_status import RunStatus
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Command, Layers
from tests.sandbox.conftest import PATIENT, RUNNER, shell

pytestmark = pytest.mark.rootless

FILL = "{ head -c 40000000 /dev/zero; sleep 1000; } | tail -c 40000000 > /dev/null"
"""Keeps 40 MB in memory."""
SPIN = "while :; do :; done"


@pytest.fixture
async def boxes() -> AsyncIterator[Boxes]:
    async with Boxes.open(runner=RUNNER, layers=Layers.ALL & ~Layers.CGROUP) as opened:
        yield opened


async def test_x5_memory_of_several_processes_counts_together(boxes: Boxes) -> None:
    limits = replace(PATIENT, memory_bytes=64 * MIB)
    report = await boxes.run(shell(f"{FILL} & {FILL} & wait", limits))
    assert report.status is RunStatus.MEMORY_LIMIT
    assert report.memory_bytes > 64 * MIB


async def test_x5_cpu_time_of_several_processes_counts_together(boxes: Boxes) -> None:
    """Each process alone stays below the limit."""
    limits = replace(PATIENT, cpu_ms=600)
    report = await boxes.run(shell(f"({SPIN}) & ({SPIN}) & ({SPIN}) & wait", limits))
    assert report.status is RunStatus.TIME_LIMIT
    assert report.cpu_ns >= 600_000_000


async def test_x5_cpu_time_of_a_process_that_nobody_waits_for_counts(boxes: Boxes) -> None:
    """J7: if its parent ignores SIGCHLD, no rusage has its time after its end."""
    script = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "for _ in range(20):\n"
        "    if not os.fork():\n"
        "        while time.process_time() < 0.1: pass\n"
        "        os._exit(0)\n"
        "    try: os.wait()\n"
        "    except ChildProcessError: pass\n"
    )
    command = Command(("/usr/bin/python3", "-I", "-c", script), replace(PATIENT, cpu_ms=500))
    report = await boxes.run(command)
    assert report.status is RunStatus.TIME_LIMIT
    assert report.cpu_ns >= 400_000_000


async def test_x5_a_run_has_no_more_processes_than_it_may(boxes: Boxes) -> None:
    limits = replace(PATIENT, processes=8)
    script = "i=0; while sleep 1000 & do i=$((i+1)); echo $i; done"
    report = await boxes.run(shell(script, replace(limits, wall_ms=3000)))
    assert 4 <= len(report.stdout.split()) <= 10


async def test_x5_a_run_below_its_limits_is_not_disturbed(boxes: Boxes) -> None:
    report = await boxes.run(shell("head -c 8000000 /dev/zero | tail -c 8000000 | wc -c"))
    assert (report.status, report.stdout) == (RunStatus.OK, b"8000000\n")
