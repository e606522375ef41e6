"""Many runs in a row leak no memory, descriptors, mounts or cgroups."""

import asyncio
import os
import re
import socket
from dataclasses import dataclass
from pathlib import Path

import pytest

from deemster.domain.limits import Limits
from deemster.sandbox import wire
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import ENVIRONMENT, Command
from tests.sandbox.conftest import RUNNER, processes_under
from tests.waiting import PATIENCE_S, until

SCRIPT = "echo $$ > file; mkdir -p a/b; sleep 0 & cat"
PATIENT = Limits(wall_ms=PATIENCE_S * 1000, cpu_ms=60_000)
WARM_UP = 300
"""Runs until the allocators of the kernel and of Python have their usual size."""
IDLE_PROCESSES = 3
"""The runner, one spawner, and the init that waits for the next run."""
SLACK_BYTES = 2 << 20


@dataclass(frozen=True)
class Footprint:
    """What the runner and its slot use between runs."""

    processes: int
    descriptors: int
    mounts: int
    groups: int
    resident_bytes: int
    group_bytes: int


async def footprint(boxes: Boxes) -> Footprint:
    runner = boxes.runner_pid
    await until(lambda: len(processes_under(runner)) == IDLE_PROCESSES)
    return measure(runner)


def measure(runner: int) -> Footprint:
    processes = sorted(processes_under(runner))
    spawner = min(pid for pid in processes if pid != runner)
    return Footprint(
        processes=len(processes),
        descriptors=sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in processes[:2]),
        mounts=len(Path(f"/proc/{spawner}/mountinfo").read_text().splitlines()),
        groups=len(own_groups(runner)),
        resident_bytes=sum(resident_bytes(pid) for pid in processes[:2]),
        group_bytes=sum(group_bytes(group) for group in own_groups(runner)),
    )


def resident_bytes(pid: int) -> int:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) * 1024 if found else 0


def own_groups(runner: int) -> list[Path]:
    # Unlike rglob, walk does not fail when another runner removes its group meanwhile.
    found = [Path(path) for path, _, _ in os.walk("/sys/fs/cgroup")]
    return [path for path in found if f"deemster.{runner}" in path.parts]


def group_bytes(group: Path) -> int:
    for name in ("memory.usage_in_bytes", "memory.current"):
        if (group / name).exists():
            return int((group / name).read_text())
    return 0


def assert_same(before: Footprint, after: Footprint) -> None:
    assert after.processes == before.processes
    # Some /proc mounts of dead runs, and a descriptor of them, may still be there.
    assert abs(after.descriptors - before.descriptors) <= 2
    assert abs(after.mounts - before.mounts) <= 16
    assert after.groups == before.groups
    assert after.resident_bytes <= before.resident_bytes + SLACK_BYTES
    assert after.group_bytes <= before.group_bytes + 3 * SLACK_BYTES


def run_raw(channel: socket.socket, packet: bytes, times: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    try:
        for _ in range(times):
            socket.send_fds(channel, [packet], [null, null, null])
            report = wire.unpack_report(channel.recv(wire.REPORT.size))
            assert report.end is wire.End.EXITED
    finally:
        os.close(null)


async def check_for_leaks(raw_runs: int, api_runs: int) -> None:
    command = Command(("/bin/sh", "-c", SCRIPT), limits=PATIENT, profile="compiler")
    async with Boxes.open(runner=RUNNER) as boxes:
        profile = boxes.profile_index("compiler")
        packet = wire.pack_request(["/bin/true"], ENVIRONMENT, PATIENT, profile)
        async with boxes.raw_slot() as slot:
            await asyncio.to_thread(run_raw, slot.channel, packet, WARM_UP)
        for _ in range(WARM_UP // 10):
            await boxes.run(command, stdin=b"x")
        before = await footprint(boxes)
        async with boxes.raw_slot() as slot:
            await asyncio.to_thread(run_raw, slot.channel, packet, raw_runs)
        for _ in range(api_runs):
            report = await boxes.run(command, stdin=b"x")
            assert report.stdout == b"x"
        assert_same(before, await footprint(boxes))


async def test_x2_a_thousand_runs_leak_nothing() -> None:
    await check_for_leaks(raw_runs=800, api_runs=200)


@pytest.mark.soak
async def test_x2_a_hundred_thousand_runs_leak_nothing() -> None:
    await check_for_leaks(raw_runs=90_000, api_runs=10_000)
