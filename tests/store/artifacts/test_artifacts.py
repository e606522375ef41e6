"""J11: artifacts are stored and read back, in files and in a bucket alike."""

import asyncio
import hashlib
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from threading import Event

import pytest

from deemster.domain.errors import Refused, Unavailable
from deemster.domain.limits import MIB
from deemster.store.artifacts import ArtifactDamaged, ArtifactMissing, Artifacts
from deemster.store.artifacts.artifacts import stoppable
from tests.store.artifacts.conftest import ArtifactStore
from tests.waiting import until

NOTHING = hashlib.sha256(b"never put").hexdigest()


# ---- by content ----


@pytest.mark.parametrize("size_bytes", [0, 1, 100_000, 9 * MIB + 1])
async def test_an_artifact_is_read_by_its_digest(
    artifacts: Artifacts, store: ArtifactStore, size_bytes: int
) -> None:
    content = os.urandom(size_bytes)
    digest = await artifacts.put(content)
    assert digest == hashlib.sha256(content).hexdigest()
    assert await artifacts.get(digest) == content
    assert await store.open().get(digest) == content
    assert await artifacts.exists(digest)


async def test_the_same_content_is_stored_once(
    artifacts: Artifacts, store: ArtifactStore
) -> None:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(artifacts.put(b"the same")) for _ in range(20)]
    digests = {task.result() for task in tasks}
    assert len(digests) == 1
    digest = digests.pop()
    assert store.names() == {f"content/{digest[:2]}/{digest}"}
    assert await artifacts.get(digest) == b"the same"


async def test_an_artifact_that_was_never_stored_is_missing(artifacts: Artifacts) -> None:
    assert not await artifacts.exists(NOTHING)
    with pytest.raises(ArtifactMissing, match=NOTHING):
        await artifacts.get(NOTHING)


@pytest.mark.parametrize("harm", [b"", b"contenu", b"content and more"])
async def test_a_damaged_artifact_is_noticed_and_storing_it_again_repairs_it(
    artifacts: Artifacts, store: ArtifactStore, harm: bytes
) -> None:
    digest = await artifacts.put(b"content")
    store.content(digest).write_bytes(harm)
    await until(lambda: has_size(artifacts, digest, len(harm)))
    with pytest.raises(ArtifactDamaged, match=digest):
        await artifacts.get(digest)
    await artifacts.put(b"content")
    assert await artifacts.get(digest) == b"content"


async def has_size(artifacts: Artifacts, digest: str, size_bytes: int) -> bool:
    """The S3 server remembers the size of a file for a millisecond."""
    found = await artifacts.find(f"content/{digest[:2]}/{digest}")
    return found is not None and found.size_bytes == size_bytes


@pytest.mark.parametrize("digest", ["", "x", "../../etc", "A" * 64, "0" * 63, "0" * 64 + "\n"])
async def test_a_name_that_is_not_a_digest_is_refused(
    artifacts: Artifacts, digest: str
) -> None:
    for call in (artifacts.get, artifacts.exists):
        with pytest.raises(Refused, match="is not an artifact's digest"):
            await call(digest)


# ---- by name ----


@pytest.mark.parametrize("size_bytes", [0, 1000, 20 * MIB + 1])
async def test_a_file_is_stored_under_a_name(
    artifacts: Artifacts, store: ArtifactStore, tmp_path: Path, size_bytes: int
) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(os.urandom(size_bytes))
    await artifacts.put_file(source, "revisions/some.tar")
    assert store.names() == {"revisions/some.tar"}
    await artifacts.get_file("revisions/some.tar", target, max_bytes=size_bytes)
    assert target.read_bytes() == source.read_bytes()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    found = await artifacts.find("revisions/some.tar")
    assert found is not None
    assert found.size_bytes == size_bytes


async def test_a_file_replaces_another_of_the_same_name(
    artifacts: Artifacts, tmp_path: Path
) -> None:
    for text in ("first", "second, longer", "third"):
        (tmp_path / "source").write_text(text)
        await artifacts.put_file(tmp_path / "source", "a/b")
    await artifacts.get_file("a/b", tmp_path / "target", max_bytes=100)
    assert (tmp_path / "target").read_text() == "third"


async def test_a_file_that_is_too_large_is_not_fetched(
    artifacts: Artifacts, tmp_path: Path
) -> None:
    (tmp_path / "source").write_bytes(b"12345")
    await artifacts.put_file(tmp_path / "source", "a/b")
    with pytest.raises(Unavailable, match="5 bytes, and at most 4"):
        await artifacts.get_file("a/b", tmp_path / "target", max_bytes=4)
    assert not (tmp_path / "target").exists()


async def test_a_file_that_is_not_there_is_missing(
    artifacts: Artifacts, tmp_path: Path
) -> None:
    with pytest.raises(ArtifactMissing, match="a/b"):
        await artifacts.get_file("a/b", tmp_path / "target", max_bytes=100)


@pytest.mark.parametrize(
    "name",
    ["", "a", "/a/b", "a/", "a//b", "../b", "a/../b", "a/.b", "a/B", "a/b\n", ".incoming/b"],
)
async def test_a_name_that_could_leave_the_store_is_refused(
    artifacts: Artifacts, store: ArtifactStore, tmp_path: Path, name: str
) -> None:
    (tmp_path / "source").touch()
    with pytest.raises(Refused, match="name of an artifact"):
        await artifacts.put_file(tmp_path / "source", name)
    with pytest.raises(Refused, match="name of an artifact"):
        await artifacts.get_file(name, tmp_path / "target", max_bytes=100)
    assert store.names() == set()


LARGE = """
import asyncio, json, pathlib, resource, sys
from deemster.store.artifacts import Artifacts

async def main(url, data_dir, source, target):
    artifacts = Artifacts.open(url, pathlib.Path(data_dir))
    await artifacts.put(b"warm")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await artifacts.put_file(pathlib.Path(source), "a/large")
    await artifacts.get_file("a/large", pathlib.Path(target), max_bytes=1 << 30)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)

asyncio.run(main(*json.loads(sys.argv[1])))
"""


async def test_a_large_file_takes_little_memory(store: ArtifactStore, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    with source.open("wb") as file:
        file.truncate(128 * MIB)
    given = json.dumps([store.url, str(store.data_dir), str(source), str(target)])
    argv = [sys.executable, "-c", LARGE, given]
    run = await asyncio.to_thread(subprocess.run, argv, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert target.stat().st_size == 128 * MIB
    target.unlink()
    assert int(run.stdout) * 1024 < 96 * MIB


# ---- ping ----


async def test_a_working_store_answers_a_ping(
    artifacts: Artifacts, store: ArtifactStore
) -> None:
    await artifacts.ping()
    assert store.names() == set()


def test_a_cancelled_transfer_stops_at_the_next_chunk() -> None:
    stop = Event()
    chunks = stoppable(iter([b"one", b"two"]), stop)
    assert next(chunks) == b"one"
    stop.set()
    with pytest.raises(Unavailable):
        next(chunks)
