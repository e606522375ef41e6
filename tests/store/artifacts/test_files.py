"""Artifacts in files are private, durable and never partial."""

import asyncio
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from deemster.directory_store import staged
from deemster.domain.errors import Unavailable
from deemster.store.artifacts import Artifacts
from deemster.store.artifacts.files import INCOMING
from tests.store.artifacts.conftest import ArtifactStore
from tests.waiting import wait_until


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_other_users_can_not_read_artifacts(files: ArtifactStore) -> None:
    """A11: whatever the umask."""
    before = os.umask(0)
    try:
        digest = await files.open().put(b"content")
    finally:
        os.umask(before)
    path = files.content(digest)
    assert mode(path) == 0o600
    for directory in (path.parent, path.parent.parent, files.directory):
        assert mode(directory) == 0o700


async def test_an_artifact_is_on_the_disk_before_it_has_its_name(
    files: ArtifactStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifacts = files.open()
    digest = await artifacts.put(b"content")
    path = files.content(digest)
    path.unlink()
    synced: list[tuple[Path, bool]] = []
    real = os.fsync

    def watched(descriptor: int) -> None:
        synced.append((Path(f"/proc/self/fd/{descriptor}").readlink(), path.exists()))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    await artifacts.put(b"content")
    (first, named_first), (second, named_second) = synced
    assert first.parent.parent == files.directory / INCOMING
    assert not named_first
    assert second == path.parent
    assert named_second


async def test_a_new_directory_is_on_the_disk_too(
    files: ArtifactStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    real = os.fsync

    def watched(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        real(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    digest = await files.open().put(b"content")
    parent = files.content(digest).parent
    assert {parent, parent.parent, files.directory} <= set(synced)


async def test_a_directory_that_can_not_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    artifacts = Artifacts.open(None, tmp_path / "file")
    for call in (artifacts.put(b"content"), artifacts.ping()):
        with pytest.raises(Unavailable, match="DEEMSTER_ARTIFACTS_URL"):
            await call


FULL = """
import asyncio, pathlib, resource, sys
from deemster.domain.errors import Unavailable
from deemster.store.artifacts import Artifacts

async def main(data_dir):
    artifacts = Artifacts.open(None, pathlib.Path(data_dir))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    try:
        await artifacts.put(b"x" * (2 << 20))
    except Unavailable as fault:
        print(fault)
    await artifacts.put(b"small")

asyncio.run(main(sys.argv[1]))
"""


async def test_a_write_to_a_full_disk_leaves_nothing(
    files: ArtifactStore, tmp_path: Path
) -> None:
    argv = [sys.executable, "-c", FULL, str(tmp_path)]
    run = await asyncio.to_thread(subprocess.run, argv, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "free some space" in run.stdout
    assert len(files.names()) == 1


KILLED = """
import asyncio, hashlib, json, pathlib, sys
from deemster.store.artifacts import Artifacts
from tests.killed_child import status_of_killed_child

data_dir = pathlib.Path(sys.argv[1])
digest = hashlib.sha256(b"content").hexdigest()
path = data_dir / "artifacts" / "content" / digest[:2] / digest

def put():
    asyncio.run(Artifacts.open(None, data_dir).put(b"content"))

steps = there = left_behind = 0
while status_of_killed_child(put, data_dir, steps + 1):
    steps += 1
    left_behind += any((data_dir / "artifacts" / ".incoming").glob("*"))
    if path.exists():
        there += 1
        assert path.read_bytes() == b"content"
        path.unlink()
print(json.dumps({"steps": steps, "there": there, "left_behind": left_behind}))
"""


async def test_a_put_that_is_killed_at_any_step_leaves_no_partial_artifact(
    files: ArtifactStore, tmp_path: Path
) -> None:
    argv = [sys.executable, "-c", KILLED, str(tmp_path)]
    run = await asyncio.to_thread(subprocess.run, argv, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["steps"] >= 8
    assert 0 < found["there"] < found["steps"]
    assert 0 < found["left_behind"] < found["steps"]


async def test_files_of_killed_writers_are_removed_and_those_of_live_ones_stay(
    files: ArtifactStore,
) -> None:
    artifacts = files.open()
    digest = await artifacts.put(b"content")
    incoming = files.directory / INCOMING
    (incoming / "left-behind").mkdir()
    with staged(incoming) as live:
        await artifacts.remove_partial_files()
        assert [path.name for path in incoming.iterdir()] == [live.name]
    assert await artifacts.get(digest) == b"content"
    (files.directory / INCOMING / "left").mkdir()
    digest = await files.open().put(b"content")
    assert files.names() == {f"content/{digest[:2]}/{digest}"}


async def test_a_file_that_another_process_is_writing_is_not_removed(
    files: ArtifactStore,
) -> None:
    """The content comes through a pipe, so that the writer waits."""
    source = files.data_dir / "pipe"
    os.mkfifo(source)
    artifacts = files.open()
    async with asyncio.TaskGroup() as group:
        writing = group.create_task(artifacts.put_file(source, "a/b"))
        with await asyncio.to_thread(source.open, "wb"):
            await asyncio.to_thread(wait_for_a_file, files)
            other = files.open()
            await other.put(b"content")
            assert len([name for name in files.names() if name.startswith(INCOMING)]) == 1
        await writing
    assert not [name for name in files.names() if name.startswith(INCOMING)]
    assert await artifacts.find("a/b") is not None


def wait_for_a_file(store: ArtifactStore) -> None:
    wait_until(store.names)
