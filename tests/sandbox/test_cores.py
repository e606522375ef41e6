"""Workers lock the cores on which they judge, and other programs keep off them (Q9, E9)."""

import asyncio
import os
from pathlib import Path

import pytest

from deemster.domain.errors import Refused
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.cores import reserve_cores, unreserved_cores
from tests.sandbox.conftest import PATIENT, RUNNER, shell
from tests.waiting import until

CORES = sorted(os.sched_getaffinity(0))
SHOW_CORES = "while :; do grep Cpus_allowed_list /proc/self/status; sleep 0.05; done"

needs_two_cores = pytest.mark.skipif(len(CORES) < 2, reason="needs two cores")


def test_q9_a_core_is_reserved_by_one_worker_at_a_time(tmp_path: Path) -> None:
    with reserve_cores(tmp_path / "cores", len(CORES)) as reserved:
        assert reserved == tuple(CORES)
        with (
            pytest.raises(Refused, match="other workers leave only 0"),
            reserve_cores(tmp_path / "cores", 1),
        ):
            pass
    with reserve_cores(tmp_path / "cores", 1) as reserved:
        assert reserved == (CORES[0],)


def test_e9_cores_of_any_worker_are_not_free(tmp_path: Path) -> None:
    directory = tmp_path / "cores"
    assert unreserved_cores(directory) == set(CORES)
    with reserve_cores(directory, 1):
        assert unreserved_cores(directory) == set(CORES[1:])
        with reserve_cores(directory, len(CORES) - 1):
            assert unreserved_cores(directory) == set()
    assert unreserved_cores(directory) == set(CORES)


@needs_two_cores
async def test_e9_boxes_and_running_programs_are_moved_to_other_cores() -> None:
    first, second = CORES[:2]
    async with Boxes.open(slots=2, cpus=(first,), share_cpus=True, runner=RUNNER) as boxes:
        seen: list[str] = []

        def see(data: bytes) -> None:
            seen.extend(line.split()[-1] for line in data.decode().splitlines())

        async with asyncio.TaskGroup() as group:
            running = group.create_task(boxes.run(shell(SHOW_CORES, PATIENT), stdout=see))
            await until(lambda: seen)
            assert set(seen) == {str(first)}
            await asyncio.to_thread(boxes.move_to, {second})
            await until(lambda: seen[-1] == str(second))

            async def is_moved() -> bool:
                # Again each time: a move misses a process that is being made at that moment.
                await asyncio.to_thread(boxes.move_to, {second})
                report = await boxes.run(shell("grep Cpus_allowed_list /proc/self/status"))
                return report.stdout.split()[-1].decode() == str(second)

            await until(is_moved)
            running.cancel()
