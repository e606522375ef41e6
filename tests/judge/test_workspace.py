"""Work directories are unique and never stay behind."""

import asyncio
import contextlib
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from deemster.domain.errors import Unavailable
from deemster.pipeline.judge.workspace import sweep, workspace


def listed(path: Path) -> list[Path]:
    return list(path.iterdir())


async def test_a_workspace_is_private_and_gone_afterwards(tmp_path: Path) -> None:
    root = tmp_path / "new" / "root"
    async with workspace(root) as one, workspace(root) as other:
        assert one != other
        assert stat.S_IMODE(one.stat().st_mode) == 0o700
        (one / "deep" / "er").mkdir(parents=True)
        (one / "deep" / "er" / "file").touch()
    assert listed(root) == []


async def test_a_failed_and_a_cancelled_attempt_leave_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        async with workspace(tmp_path):
            raise KeyError
    entered = asyncio.Event()

    async def attempt() -> None:
        async with workspace(tmp_path):
            entered.set()
            await asyncio.Event().wait()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(attempt())
        await entered.wait()
        task.cancel()
    assert listed(tmp_path) == []


async def test_a_sweep_takes_what_a_killed_process_left_and_nothing_in_use(
    tmp_path: Path,
) -> None:
    code = (
        "import asyncio, os, pathlib, signal, sys\n"
        "from deemster.pipeline.judge.workspace import workspace\n"
        "async def main():\n"
        "    async with workspace(pathlib.Path(sys.argv[1])) as place:\n"
        "        (place / 'source').mkdir()\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", code, str(tmp_path)], check=False
    )
    assert len(listed(tmp_path)) == 1
    async with workspace(tmp_path) as used:
        assert await asyncio.to_thread(sweep, tmp_path) == 1
        assert listed(tmp_path) == [used]


async def test_a_sweep_of_nothing_is_quiet(tmp_path: Path) -> None:
    assert await asyncio.to_thread(sweep, tmp_path / "missing") == 0


async def test_a_sweep_never_follows_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(outside)
    assert await asyncio.to_thread(sweep, root) == 0
    assert outside.exists()


async def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable, match="DEEMSTER_WORK_DIR"):
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(workspace(tmp_path / "file" / "root"))
