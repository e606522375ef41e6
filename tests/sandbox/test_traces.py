"""Closed or killed boxes leave nothing on the machine (X2, J8).

Run as a program, this module opens boxes, prints the pid of the runner, and runs an attack
until it is killed.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from deemster.domain.errors import Unavailable
from deemster.domain.limits import Limits
from deemster.domain.run_status import RunStatus
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Command, Layers
from tests.sandbox.conftest import RUNNER, RunnerTree, assert_gone
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.rootless

ATTACKS = Path(__file__).parent / "attacks"
PATIENT = Limits(cpu_ms=PATIENCE_S * 1000, wall_ms=PATIENCE_S * 1000, processes=16)
IDLE_PROCESSES = 3
"""The runner, one spawner, and the init that waits for the next run."""


def attack(folder: Path, *arguments: str) -> Command:
    return Command(("/code/attack", *arguments), code=folder, limits=PATIENT)


async def started(tree: RunnerTree) -> None:
    """Waits until the attack has started its own processes."""

    def has_started() -> bool:
        tree.update()
        return len(tree.alive()) > IDLE_PROCESSES

    await until(has_started)


@pytest.mark.parametrize(
    "layers",
    [Layers.ALL, *(Layers.ALL & ~one for one in Layers if one in Layers.ALL), Layers(0)],
    ids=["all layers", *(f"without {one.name}" for one in Layers), "no layers"],
)
async def test_closed_boxes_leave_nothing(
    layers: Layers, build: Callable[[Path], Path]
) -> None:
    programs = ("busy_orphan", "planted_links", "files_until_the_end", "memory_in_memfd")
    folders = [build(ATTACKS / f"{name}.c") for name in programs]
    async with Boxes.open(slots=2, layers=layers, runner=RUNNER) as boxes:
        tree = RunnerTree(boxes.runner_pid)
        async with asyncio.TaskGroup() as group:
            for folder in folders:
                group.create_task(boxes.run(attack(folder)))
        tree.update()
        assert len(tree.alive()) >= IDLE_PROCESSES
        assert any(trace.startswith("cgroup") for trace in tree.traces()) == (
            Layers.CGROUP in layers
        )
    await assert_gone(tree)


@pytest.mark.parametrize("kind", ["shmget", "semget", "msgget"])
async def test_ipc_objects_are_removed_after_their_run(
    kind: str, build: Callable[[Path], Path]
) -> None:
    folder = build(ATTACKS / "ipc_left_behind.c")
    async with Boxes.open(layers=Layers.ALL & ~Layers.SECCOMP, runner=RUNNER) as boxes:
        tree = RunnerTree(boxes.runner_pid)
        report = await boxes.run(attack(folder, kind))
        assert report.status is RunStatus.OK
    await assert_gone(tree)


async def test_boxes_closed_in_the_middle_of_a_run_leave_nothing(
    build: Callable[[Path], Path],
) -> None:
    folder = build(ATTACKS / "cpu_in_children.c")
    async with Boxes.open(runner=RUNNER) as boxes:
        tree = RunnerTree(boxes.runner_pid)
        run = asyncio.create_task(boxes.run(attack(folder)))
        await started(tree)
    with pytest.raises(Unavailable):
        await run
    await assert_gone(tree)


@pytest.mark.parametrize("generation", [0, 1, 2], ids=["runner", "spawner", "init"])
async def test_a_killed_runner_spawner_or_init_leaves_nothing(
    generation: int, build: Callable[[Path], Path]
) -> None:
    """The run raises a fault, the next run works, and nothing is left at the end."""
    busy, witness = build(ATTACKS / "cpu_in_children.c"), build(ATTACKS / "witness.c")
    async with Boxes.open(runner=RUNNER) as boxes:
        tree = RunnerTree(boxes.runner_pid)
        run = asyncio.create_task(boxes.run(attack(busy)))
        await started(tree)
        victims = [tree.runner]
        for _ in range(generation):
            victims = [child for pid in victims for child in children(pid)]
        old = tree.alive()
        os.kill(victims[0], signal.SIGKILL)
        with pytest.raises(Unavailable):
            await run
        report = await boxes.run(attack(witness))
        assert report.stdout == b"started\nheld\n"
        surviving = generation
        await until(lambda: len(set(old) & set(tree.alive())) <= surviving)
        new_tree = RunnerTree(boxes.runner_pid)
    await assert_gone(tree, new_tree)


def children(pid: int) -> list[int]:
    return [
        int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    ]


@contextmanager
def other_python(folder: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.sandbox.test_traces", str(folder)]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as python:
        try:
            yield python
        finally:
            python.kill()


@pytest.mark.parametrize("runner_too", [False, True], ids=["Python alone", "its runner too"])
async def test_a_killed_python_process_leaves_nothing(
    runner_too: bool, build: Callable[[Path], Path]
) -> None:
    with other_python(build(ATTACKS / "cpu_in_children.c")) as python:
        assert python.stdout is not None
        tree = RunnerTree(int(await asyncio.to_thread(python.stdout.readline)))
        await started(tree)
        assert tree.traces()
        if runner_too:
            os.kill(tree.runner, signal.SIGSTOP)  # so that it does not notice the end of Python
        python.kill()
        if runner_too:
            os.kill(tree.runner, signal.SIGKILL)
        await until(lambda: not tree.alive())
    async with Boxes.open(runner=RUNNER) as boxes:
        await boxes.run(attack(build(ATTACKS / "witness.c")))
        await assert_gone(tree)


async def hold_open(folder: Path) -> None:
    async with Boxes.open(runner=RUNNER) as boxes:
        print(boxes.runner_pid, flush=True)
        with suppress(Unavailable):
            await boxes.run(attack(folder))


if __name__ == "__main__":
    asyncio.run(hold_open(Path(sys.argv[1])))
