"""Boxes for interactive executions: several to a core, each with a part of it (E9, X5)."""

import asyncio
import os
from dataclasses import replace

import pytest

from deemster.domain.limits import MIB
from deemster.domain.run_status import RunStatus
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Command, Layers
from tests.sandbox.conftest import PATIENT, RUNNER, shell

CORES = "import os; print(*sorted(os.sched_getaffinity(0)))"
BURN = Command(("/bin/sh", "-c", "while :; do :; done"), limits=replace(PATIENT, wall_ms=3_000))


def usable_cores() -> list[int]:
    return sorted(os.sched_getaffinity(0))


@pytest.mark.rootless
async def test_e9_boxes_may_share_a_set_of_cores() -> None:
    cores = usable_cores()[-2:]
    async with Boxes.open(slots=3, cpus=cores, share_cpus=True, runner=RUNNER) as boxes:
        command = Command(("/usr/bin/python3", "-c", CORES), limits=PATIENT)
        reports = await asyncio.gather(*(boxes.run(command) for _ in range(3)))
    assert [report.stdout.decode().split() for report in reports] == [[*map(str, cores)]] * 3


@pytest.mark.rootless
async def test_boxes_that_share_no_cores_have_one_each() -> None:
    cores = usable_cores()[-2:]
    async with Boxes.open(slots=len(cores), cpus=cores, runner=RUNNER) as boxes:
        # Both run at the same time, so they are in different boxes.
        script = f"{CORES}; import time; time.sleep(0.5)"
        command = Command(("/usr/bin/python3", "-c", script), limits=PATIENT)
        reports = await asyncio.gather(*(boxes.run(command) for _ in cores))
    assert sorted(int(report.stdout) for report in reports) == cores


async def test_x5_an_interactive_box_gets_half_a_core() -> None:
    """Also while another one computes on the same core."""
    limits = replace(BURN.limits, cores=0.5, memory_bytes=128 * MIB)
    half = replace(BURN, limits=limits)
    cpus = usable_cores()[-1:]
    async with Boxes.open(slots=2, cpus=cpus, share_cpus=True, runner=RUNNER) as boxes:
        reports = await asyncio.gather(*(boxes.run(half) for _ in range(2)))
        async with boxes.open_terminal(half) as run:
            reports += [await run.report()]
    for report in reports:
        assert report.status is RunStatus.WALL_LIMIT
        assert report.cpu_ns < 0.55 * report.wall_ns


@pytest.mark.rootless
async def test_without_cgroups_there_is_no_quota() -> None:
    """As with the other limits that need cgroups, the run works."""
    limits = replace(PATIENT, cores=0.5)
    layers = Layers.ALL & ~Layers.CGROUP
    async with Boxes.open(layers=layers, runner=RUNNER) as boxes:
        assert (await boxes.run(shell("echo fine", limits))).stdout == b"fine\n"


async def test_the_quota_of_a_run_does_not_limit_the_next_run_in_it() -> None:
    limits = replace(PATIENT, cores=0.05, wall_ms=2_000)
    async with Boxes.open(runner=RUNNER) as boxes:
        slow = await boxes.run(replace(BURN, limits=limits))
        fast = await boxes.run(replace(BURN, limits=replace(limits, cores=0)))
    assert fast.cpu_ns > 2 * slow.cpu_ns
