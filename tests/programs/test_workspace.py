"""Tests for workspace.py: work directories are unique and are always removed."""

import asyncio
import contextlib
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from deemster.directory_store import sweep
from deemster.domain.errors import Unavailable
from deemster.programs.scratch import MAX_FILES, OutputCollector
from deemster.programs.workspace import workspace, write_files
from tests.waiting import until


def listed(path: Path) -> list[Path]:
    return list(path.iterdir())


async def test_a_workspace_is_private_and_removed_at_the_end(tmp_path: Path) -> None:
    root = tmp_path / "new" / "root"
    async with workspace(root) as one, workspace(root) as other:
        assert one != other
        assert stat.S_IMODE(one.stat().st_mode) == 0o700
        (one / "deep" / "er").mkdir(parents=True)
        (one / "deep" / "er" / "file").touch()
    assert listed(root) == []


async def test_failed_and_cancelled_attempts_leave_no_directory(tmp_path: Path) -> None:
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


async def test_a_sweep_removes_directories_of_killed_processes_only(
    tmp_path: Path,
) -> None:
    code = (
        "import asyncio, os, pathlib, signal, sys\n"
        "from deemster.programs.workspace import workspace\n"
        "async def main():\n"
        "    async with workspace(pathlib.Path(sys.argv[1])) as workspace_path:\n"
        "        (workspace_path / 'source').mkdir()\n"
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


async def test_a_sweep_of_a_missing_directory_does_nothing(tmp_path: Path) -> None:
    assert await asyncio.to_thread(sweep, tmp_path / "missing") == 0


async def test_a_sweep_does_not_follow_links(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(outside)
    assert await asyncio.to_thread(sweep, root) == 0
    assert outside.exists()


async def test_an_unwritable_work_directory_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable, match="DEEMSTER_WORK_DIR"):
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(workspace(tmp_path / "file" / "root"))


def open_descriptors() -> int:
    return len(listed(Path("/proc/self/fd")))


async def test_cancelling_during_creation_leaves_no_directory(
    tmp_path: Path,
) -> None:
    """J8: nor the descriptor of its lock."""

    async def attempt() -> None:
        async with workspace(tmp_path):
            await asyncio.Event().wait()

    await asyncio.to_thread(open_descriptors)  # opens the descriptors of the thread pool
    before = open_descriptors()
    for ticks in range(20):
        task = asyncio.ensure_future(attempt())
        for _ in range(ticks % 5):
            await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    await until(lambda: not listed(tmp_path) and open_descriptors() == before)


async def test_a_directory_is_removed_while_a_thread_still_writes_to_it(tmp_path: Path) -> None:
    """J8: the output of a cancelled attempt may still be copied."""
    output = tmp_path / "scratch" / "out"
    for number in range(MAX_FILES):
        (output / str(number)).mkdir(parents=True)
    scratch = os.open(output.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        async with workspace(tmp_path / "root") as directory:
            collecting = asyncio.get_running_loop().run_in_executor(
                None, OutputCollector("out", directory), scratch
            )
            while not any(directory.iterdir()):  # noqa: ASYNC110 - while it runs
                await asyncio.sleep(0)
        assert listed(tmp_path / "root") == []
        await asyncio.wait([collecting])
        collecting.exception()  # its target directory is gone
    finally:
        os.close(scratch)


def test_the_sandbox_user_may_read_written_files_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        write_files(tmp_path, {"a/b/c.py": b"1", "é.py": b"2"})
    finally:
        os.umask(before)
    assert (tmp_path / "a" / "b" / "c.py").read_bytes() == b"1"
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "a" / "b" / "c.py").stat().st_mode) == 0o644
    assert sorted(os.fsencode(path.name) for path in listed(tmp_path)) == [b"a", b"\xc3\xa9.py"]


def test_writing_files_replaces_nothing_and_follows_no_link(tmp_path: Path) -> None:
    target, outside = tmp_path / "target", tmp_path / "outside"
    target.mkdir()
    outside.mkdir()
    (target / "program").write_bytes(b"compiled")
    (target / "link").symlink_to(outside / "file")
    (target / "there").symlink_to(outside)
    write_files(
        target,
        {"program": b"x", "program/x": b"x", "link": b"x", "there/x": b"x", "new": b"x"},
    )
    assert (target / "program").read_bytes() == b"compiled"
    assert listed(outside) == []
    assert (target / "new").read_bytes() == b"x"
