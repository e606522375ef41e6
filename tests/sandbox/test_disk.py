"""A box reads from disks no faster than the operator allows, where the kernel can limit it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from deemster.domain.limits import MIB
from deemster.domain.run_status import RunStatus
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Bind, Command, FilesView
from deemster.sandbox.visible_files import system_view
from tests.sandbox.cached_file import forget, write_file
from tests.sandbox.conftest import PATIENT, RUNNER, processes_under

SOURCE = Path(__file__).with_name("page_cache.c")
RATE_MIB = 32
FILE_MIB = 16
READS_PER_MIB = 16
FILES = (("blkio.throttle.read_bps_device", "blkio.throttle.read_iops_device"), ("io.max",))


def limits_of(process: int) -> list[str]:
    """The limits in the group of a process, of whichever version has the controller: one text
    for each file.
    """
    for line in Path(f"/proc/{process}/cgroup").read_text().splitlines():
        _, controllers, group = line.split(":", 2)
        for top in (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup") / controllers):
            own = top / group.strip("/")
            # Version 2: the spawner is in a group below that of its slot, which has the limit.
            for place in (own.parent, own) if own.name == "keep" else (own,):
                for names in FILES:
                    if "deemster" in str(place) and (place / names[0]).exists():
                        return [(place / name).read_text() for name in names]
    pytest.skip("this kernel can't limit reads, or no group here may")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has the controller")
async def test_x1_a_box_reads_from_a_disk_at_a_limited_rate(
    tmp_path: Path, build: Callable[[Path], Path]
) -> None:
    write_file(tmp_path)
    view = FilesView((*system_view().binds, Bind(tmp_path, "/opt/shared")))
    command = Command(
        ("/code/attack", "spend", "/opt/shared/file"), code=build(SOURCE), limits=PATIENT
    )
    async with Boxes.open(script_view=view, runner=RUNNER, read_mib_per_s=RATE_MIB) as boxes:
        spawner = sorted(processes_under(boxes.runner_pid))[1]
        texts = limits_of(spawner)
        for wanted, text in zip(
            (RATE_MIB * MIB, RATE_MIB * READS_PER_MIB), 2 * texts, strict=False
        ):
            lines = text.splitlines()
            assert lines
            assert all(str(wanted) in line for line in lines), lines
            assert not any(line.startswith("1:") for line in lines), "disks in memory have none"
        forget(tmp_path)
        report = await boxes.run(command)
    assert report.status is RunStatus.OK, report
    assert report.wall_ns > 0.8e9 * FILE_MIB / RATE_MIB
