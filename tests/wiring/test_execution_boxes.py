"""Executions run on cores on which no worker judges, whenever a worker comes or goes (E9)."""

import os
from pathlib import Path

import pytest

from deemster.sandbox.boxes import Boxes
from deemster.sandbox.cores import reserve_cores
from deemster.settings import Settings
from deemster.wiring.execution_boxes import open_execution_boxes
from tests.sandbox.conftest import RUNNER, shell
from tests.waiting import until

CORES = sorted(os.sched_getaffinity(0))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        data_dir=tmp_path / "data", work_dir=tmp_path / "work", execution_slots=2, runner=RUNNER
    )


async def cores_of(boxes: Boxes) -> set[int]:
    """The cores of a program in one of the boxes."""
    report = await boxes.run(shell("grep Cpus_allowed: /proc/self/status"))
    mask = int(report.stdout.split()[-1].replace(b",", b""), 16)
    return {core for core in CORES if mask >> core & 1}


@pytest.mark.skipif(len(CORES) < 2, reason="needs two cores")
async def test_e9_executions_leave_a_core_when_another_worker_judges_on_it(
    settings: Settings, tmp_path: Path
) -> None:
    locks = tmp_path / "cores"
    with reserve_cores(locks, 1) as ours:
        async with open_execution_boxes(settings, [], locks, ours) as boxes:
            free = set(CORES) - set(ours)
            assert await cores_of(boxes) == free

            async def are_on(cores: set[int]) -> bool:
                return await cores_of(boxes) == cores

            with reserve_cores(locks, 1) as theirs:
                # On two cores nothing is left but the core on which this worker judges itself.
                await until(lambda: are_on(free - set(theirs) or set(ours)))
            await until(lambda: are_on(free))


async def test_e9_without_a_free_core_executions_yield_to_judging(
    settings: Settings, tmp_path: Path
) -> None:
    locks = tmp_path / "cores"
    with reserve_cores(locks, len(CORES)) as ours:
        async with open_execution_boxes(settings, [], locks, ours) as boxes:
            assert await cores_of(boxes) == set(CORES)
            assert os.getpriority(os.PRIO_PROCESS, boxes.runner_pid) == 19
