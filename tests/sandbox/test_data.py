"""X2: only the run that asks for /data gets it."""

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from deemster.domain.errors import Refused
from deemster.domain.run_status import RunStatus
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Command
from deemster.sandbox.pool import Pool
from deemster.sandbox.runner import SandboxFault
from deemster.sandbox.wire import Instruction
from tests.sandbox.conftest import RUNNER, processes_under, shell, started
from tests.waiting import until

pytestmark = pytest.mark.rootless

LIST_DATA = (
    "cat /data/name 2>/dev/null; touch /data/x 2>/dev/null && echo written; ls -A /data | wc -l"
)
NOTHING = [b"0"]


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    return folder(tmp_path, "secret")


@pytest.fixture
async def boxes() -> AsyncIterator[Boxes]:
    async with Boxes.open(runner=RUNNER) as opened:
        yield opened


def folder(parent: Path, name: str) -> Path:
    made = parent / name
    made.mkdir()
    (made / "name").write_text(name)
    return made


def put_program(folder: Path) -> None:
    shutil.copy("/bin/true", folder / "program")
    folder.chmod(0o755)


async def list_data(
    boxes: Boxes, code: Path | None = None, data: Path | None = None
) -> list[bytes]:
    return (await boxes.run(shell(LIST_DATA, code=code, data=data))).stdout.split()


async def test_data_is_mounted_read_only_and_unmounted_again(
    boxes: Boxes, tmp_path: Path
) -> None:
    one, two = folder(tmp_path, "one"), folder(tmp_path, "two")
    outputs = [await list_data(boxes, data=data) for data in (None, one, one, two, None, one)]
    assert outputs == [NOTHING, [b"one1"], [b"one1"], [b"two1"], NOTHING, [b"one1"]]


async def test_code_and_data_change_independently(boxes: Boxes, tmp_path: Path) -> None:
    one, two = folder(tmp_path, "one"), folder(tmp_path, "two")
    script = "cat /code/name 2>/dev/null; echo -n ,; cat /data/name 2>/dev/null; echo"
    for code in (None, one, two, one):
        for data in (None, one, one, two, None):
            names = "" if code is None else code.name, "" if data is None else data.name
            report = await boxes.run(shell(script, code=code, data=data))
            assert report.stdout.decode() == ",".join(names) + "\n"


async def test_nothing_can_be_executed_from_data(boxes: Boxes, tmp_path: Path) -> None:
    put_program(tmp_path)
    as_code = await boxes.run(shell("/code/program", code=tmp_path))
    assert as_code.status is RunStatus.OK
    as_data = await boxes.run(shell("/data/program", data=tmp_path))
    assert as_data.exit_code == 126
    with pytest.raises(SandboxFault, match="program-exec"):
        await boxes.run(Command(("/data/program",), data=tmp_path))


async def test_a_replaced_data_directory_is_mounted_again(boxes: Boxes, tmp_path: Path) -> None:
    data = folder(tmp_path, "data")
    await list_data(boxes, data=data)
    data.rename(tmp_path / "aside")
    data.mkdir()
    (data / "name").write_text("new")
    assert await list_data(boxes, data=data) == [b"new1"]
    assert await list_data(boxes, data=tmp_path / "aside") == [b"data1"]


async def test_a_box_is_chosen_by_its_mounts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program and its checker run in turn; each keeps its box and its mounts."""
    one, two = folder(tmp_path, "one"), folder(tmp_path, "two")
    attached: list[Path] = []
    attach = Pool.attach

    async def record(pool: Pool, directory: Path, instruction: Instruction) -> int:
        attached.append(directory)
        return await attach(pool, directory, instruction)

    monkeypatch.setattr(Pool, "attach", record)
    async with Boxes.open(slots=2, runner=RUNNER) as boxes:
        for _ in range(10):
            assert await list_data(boxes, code=one) == NOTHING
            assert await list_data(boxes, code=two, data=one) == [b"one1"]
    assert attached == [one, two, one]


async def test_data_is_gone_after_a_cancelled_run(boxes: Boxes, secret: Path) -> None:
    seen = bytearray()
    command = shell("cat /data/name; sleep 1000", data=secret)
    run = asyncio.create_task(boxes.run(command, stdout=seen.extend))
    await started(run, seen)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert seen == b"secret"
    assert await list_data(boxes) == NOTHING


async def test_data_is_gone_after_a_run_cancelled_at_any_moment(
    boxes: Boxes, secret: Path
) -> None:
    for delay in range(40):
        run = asyncio.create_task(boxes.run(shell("cat /data/name", data=secret)))
        for _ in range(delay):
            await asyncio.sleep(0.0002)
        run.cancel()
        with suppress(asyncio.CancelledError):
            await run
        assert await list_data(boxes) == NOTHING


async def test_data_is_gone_after_a_fault(boxes: Boxes, secret: Path) -> None:
    for _ in range(3):
        with pytest.raises(SandboxFault, match="program-exec"):
            await boxes.run(Command(("/usr/bin/no-such-program",), data=secret))
        assert await list_data(boxes) == NOTHING


async def test_data_is_gone_after_a_failed_mount(boxes: Boxes, secret: Path) -> None:
    """If one of two directories fails, the other does not stay mounted."""
    assert await list_data(boxes, data=secret) == [b"secret1"]
    with pytest.raises(FileNotFoundError):
        await list_data(boxes, code=secret / "none", data=secret)
    with pytest.raises(SandboxFault):  # a file can't be mounted on a directory
        await list_data(boxes, code=secret, data=secret / "name")
    assert await list_data(boxes) == NOTHING
    with pytest.raises(Refused):
        await boxes.run(shell("x" * 200_000, data=secret))
    assert await list_data(boxes) == NOTHING


@pytest.mark.parametrize("generation", [1, 2], ids=["spawner", "init"])
async def test_data_is_gone_after_a_spawner_or_init_was_killed(
    boxes: Boxes, secret: Path, generation: int
) -> None:
    seen = bytearray()
    command = shell("cat /data/name; sleep 1000", data=secret)
    run = asyncio.create_task(boxes.run(command, stdout=seen.extend))
    await started(run, seen)
    victim = sorted(processes_under(boxes.runner_pid))[generation]
    os.kill(victim, signal.SIGKILL)
    with pytest.raises(SandboxFault):
        await run
    assert await list_data(boxes) == NOTHING


async def test_processes_that_keep_data_open_die_with_their_run(
    boxes: Boxes, secret: Path
) -> None:
    keep_open = "cd /data; exec 9<name; setsid sleep 1000 <name & exec 8</data; echo kept"
    assert (await boxes.run(shell(keep_open, data=secret))).stdout == b"kept\n"
    search = "for p in /proc/[0-9]*; do ls -l $p/fd $p/cwd; done; cat /proc/self/mountinfo"
    report = await boxes.run(shell(search))
    assert b"/data" not in report.stdout
    assert b"secret" not in report.stdout
    assert await list_data(boxes) == NOTHING
    await until(lambda: len(processes_under(boxes.runner_pid)) == 3)
