"""A revision that one machine imported is the same on every other machine (J9)."""

import asyncio
import fcntl
import json
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from threading import Event

import pytest

from deemster.domain.errors import Refused, Unavailable
from deemster.domain.limits import MIB
from deemster.locks import locked
from deemster.problems.archive import Bounds
from deemster.problems.distribution import YOUNG_S, RevisionDistributor, pack
from deemster.problems.revision import (
    STAGING,
    Revision,
    RevisionDamaged,
    RevisionStore,
)
from deemster.store.artifacts import ArtifactEntry, ArtifactMissing, Artifacts
from deemster.store.artifacts.files import FileBackend
from tests.problems.trees import read_tree, unseal, write_tree
from tests.services.s3 import own_s3
from tests.waiting import wait_until

CORPUS = Path(__file__).parents[2] / "corpus"
FORMATS = {
    "sumlegacy": "legacy",
    "scorelegacy": "legacy",
    "scripted": "legacy",
    "driver": "2025-09",
    "folders": "2025-09",
    "subtasks": "2025-09",
    "polygondivisor": "polygon",
    "polygonguess": "polygon",
    "hydrochecker": "hydro",
    "hydrosubtasks": "hydro",
    "dmojbatches": "dmoj",
    "dmojcheckers": "dmoj",
    "dmojcustom": "dmoj",
}
FILES = {"testdata/1.in": "1\n", "testdata/1.out": "1\n", "problem.yaml": "title: x\n"}


class CountingBackend(FileBackend):
    """Counts its calls, and blocks them while a test wants that."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.reads = self.writes = self.looks = 0
        self.may_continue = Event()
        self.may_continue.set()

    def find(self, name: str) -> ArtifactEntry | None:
        self.looks += 1
        assert self.may_continue.wait(60)
        return super().find(name)

    def read(self, name: str) -> Iterator[bytes]:
        self.reads += 1
        assert self.may_continue.wait(60)
        return super().read(name)

    def write(self, name: str, chunks: Iterable[bytes], size_bytes: int) -> None:
        self.writes += 1
        super().write(name, chunks, size_bytes)


class Machine:
    """A machine with its own revisions and a shared artifact store."""

    def __init__(self, root: Path, data_dir: Path, store: RevisionStore | None = None) -> None:
        self.root = root
        self.backend = CountingBackend(data_dir / "artifacts")
        self.revisions = store or RevisionStore(root, 100 * MIB)
        self.clock_offset_s = 0.0
        artifacts = Artifacts(self.backend, clock=lambda: time.time() + self.clock_offset_s)
        self.distributor = RevisionDistributor(artifacts, self.revisions)

    def staged(self) -> list[Path]:
        return list((self.root / STAGING).iterdir())

    async def publish(self, package: Path) -> Revision:
        async with self.revisions.imported(package) as revision:
            await self.distributor.publish(revision)
            return revision


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    for path in tmp_path.glob("revisions-*"):
        unseal(path)


@pytest.fixture
def here(data_dir: Path) -> Machine:
    return Machine(data_dir / "revisions-here", data_dir)


@pytest.fixture
def there(data_dir: Path) -> Machine:
    return Machine(data_dir / "revisions-there", data_dir)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "sum", FILES)


def tar_of(data_dir: Path, digest: str) -> Path:
    return data_dir / "artifacts" / "revisions" / f"{digest}.tar"


def modes(directory: Path) -> dict[str, int]:
    return {
        str(path.relative_to(directory)): stat.S_IMODE(path.stat().st_mode)
        for path in directory.rglob("*")
    }


# ---- the same everywhere ----


@pytest.mark.parametrize("name", FORMATS)
async def test_a_revision_of_any_format_is_the_same_on_another_machine(
    here: Machine, there: Machine, name: str
) -> None:
    async with here.revisions.imported(CORPUS / name) as revision:
        assert revision.problem.format == FORMATS[name]
        await here.distributor.publish(revision)
        async with there.distributor.opened(revision.digest) as other:
            assert other.digest == revision.digest
            assert other.problem == revision.problem
            assert other.directory.is_relative_to(there.root)
            assert read_tree(other.directory) == read_tree(revision.directory)
            assert modes(other.directory) == modes(revision.directory)
    assert there.staged() == here.staged() == []


@pytest.mark.parametrize("name", FORMATS)
async def test_preparing_a_prepared_package_changes_nothing(
    here: Machine, tmp_path: Path, name: str
) -> None:
    async with here.revisions.imported(CORPUS / name) as revision:
        pack(revision.directory, tmp_path / "package.tar")
    again = await here.revisions.import_package(tmp_path / "package.tar")
    assert again.digest == revision.digest
    assert again.problem == revision.problem


async def test_a_revision_prepared_by_another_version_is_not_prepared_again(
    here: Machine, there: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker may be newer than what imported the problem, and add other checkers."""
    dmoj_package = sys.modules["deemster.problems.formats.dmoj.package"]
    older = tmp_path / "native"
    shutil.copytree(dmoj_package.PROGRAMS, older)
    with (older / "main.py").open("a") as file:
        file.write("# older\n")
    with monkeypatch.context() as patch:
        patch.setattr(dmoj_package, "PROGRAMS", older)
        revision = await here.publish(CORPUS / "dmojbatches")
    async with there.distributor.opened(revision.digest) as other:
        assert other.digest == revision.digest
    assert (await there.revisions.import_package(CORPUS / "dmojbatches")).digest != other.digest


async def test_a_revision_is_distributed_through_s3(data_dir: Path, package: Path) -> None:
    write_tree(package, {"testdata/1.in": os.urandom(20 * MIB).hex()})
    with own_s3() as server:
        url = server.url("x")
        here, there = (
            RevisionDistributor(
                Artifacts.open(url, data_dir),
                RevisionStore(data_dir / f"revisions-{name}", 100 * MIB),
            )
            for name in ("here", "there")
        )
        store = RevisionStore(data_dir / "revisions-here", 100 * MIB)
        async with store.imported(package) as revision:
            await here.publish(revision)
        assert set(server.objects("x")) == {f"revisions/{revision.digest}.tar"}
        async with there.opened(revision.digest) as other:
            assert other.problem == revision.problem


@pytest.mark.parametrize("name", ["a b", "задача", "__pycache__", "Thumbs.db"])
async def test_a_package_of_any_name_is_distributed(
    here: Machine, there: Machine, tmp_path: Path, name: str
) -> None:
    revision = await here.publish(write_tree(tmp_path / name, FILES))
    async with there.distributor.opened(revision.digest) as other:
        assert read_tree(other.directory) == read_tree(revision.directory)


async def test_a_package_with_a_single_directory_is_distributed(
    here: Machine, there: Machine, tmp_path: Path
) -> None:
    files = {name: text for name, text in FILES.items() if name != "problem.yaml"}
    revision = await here.publish(write_tree(tmp_path / "bare", files))
    async with there.distributor.opened(revision.digest) as other:
        assert other.problem == revision.problem


async def test_a_package_of_the_largest_allowed_size_is_distributed(
    data_dir: Path, package: Path, tmp_path: Path
) -> None:
    """What is prepared, or packed below a directory, can be a bit beyond them."""
    bounds = Bounds(files=8, depth=5)
    stores = [RevisionStore(data_dir / f"revisions-{name}", 100 * MIB, bounds) for name in "ab"]
    one, two = (
        Machine(data_dir / f"revisions-{name}", data_dir, store)
        for name, store in zip("ab", stores, strict=True)
    )
    deep = write_tree(tmp_path / "deep", FILES | {"testdata/a/b/c/d": "deep\n"})
    inner = write_tree(tmp_path / "inner", {"init.yml": "archive: a.zip\n"})
    with zipfile.ZipFile(inner / "a.zip", "w") as archive:
        for name in ("1.in", "1.out", "a/b/c/d/2.in", "3"):
            archive.writestr(name, "1\n")
    for each in (deep, inner):
        revision = await one.publish(each)
        async with two.distributor.opened(revision.digest) as other:
            assert other.digest == revision.digest


@pytest.mark.parametrize(
    ("name", "said"), [("1" * 120, "too many digits"), ("/".join(["n" * 250] * 4), "too long")]
)
async def test_a_file_name_that_our_tar_reader_refuses_is_refused_on_publishing(
    here: Machine, tmp_path: Path, name: str, said: str
) -> None:
    package = write_tree(tmp_path / ("p" * 64), FILES | {name: "x"})
    with pytest.raises(Refused, match=said):
        await here.publish(package)
    assert here.backend.writes == 0
    assert here.staged() == []


# ---- the tar ----


def test_a_tar_has_no_times_and_owners(tmp_path: Path) -> None:
    """The same bytes, whatever the times, owners and order of the files."""
    names = sorted(FILES)
    one = write_tree(tmp_path / "one" / "sum", {name: FILES[name] for name in names})
    two = write_tree(tmp_path / "two" / "sum", {name: FILES[name] for name in names[::-1]})
    for place in (one, two):
        (place / "empty").mkdir()
        write_tree(place, {"testdata/build": "#!/bin/sh\n"})
        (place / "testdata" / "build").chmod(0o755 if place is one else 0o700)
    os.utime(two / "problem.yaml", (0, 0))
    pack(one, tmp_path / "one.tar")
    pack(two, tmp_path / "two.tar")
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()
    with tarfile.open(tmp_path / "one.tar") as tar:
        members = tar.getmembers()
    assert {(each.uid, each.gid, each.uname, each.gname, each.mtime) for each in members} == {
        (0, 0, "", "", 0)
    }
    assert [each.name for each in members] == sorted(
        ["sum/empty", "sum/testdata/build", *(f"sum/{name}" for name in FILES)]
    )


async def test_a_revision_is_uploaded_once_and_renewed_after_an_hour(
    here: Machine, data_dir: Path, package: Path
) -> None:
    revision = await here.publish(package)
    await here.distributor.publish(revision)
    assert here.backend.writes == 1
    here.clock_offset_s = YOUNG_S + 60
    await here.distributor.publish(revision)
    assert here.backend.writes == 2
    assert tar_of(data_dir, revision.digest).exists()


async def test_a_damaged_revision_is_not_published(here: Machine, package: Path) -> None:
    async with here.revisions.imported(package) as revision:
        path = revision.directory / "problem.yaml"
        path.chmod(0o644)
        path.write_text("title: y\n")
        with pytest.raises(RevisionDamaged):
            await here.distributor.publish(revision)
    assert here.backend.writes == 0


# ---- fetching ----


async def test_a_local_revision_is_not_fetched(here: Machine, package: Path) -> None:
    revision = await here.revisions.import_package(package)
    async with here.distributor.opened(revision.digest) as opened:
        assert opened == revision
    assert here.backend.looks == here.backend.reads == 0


async def test_an_evicted_revision_is_fetched_again(data_dir: Path, tmp_path: Path) -> None:
    """The room that revisions take is bounded by their store."""
    store = RevisionStore(data_dir / "revisions-here", MIB)
    here = Machine(data_dir / "revisions-here", data_dir, store)
    content = {name: (name * 700_000)[:700_000] for name in "ab"}
    packages = [
        write_tree(tmp_path / name, FILES | {"testdata/1.in": text})
        for name, text in content.items()
    ]
    one, two = [await here.publish(package) for package in packages]
    for revision in (one, two, one):
        async with here.distributor.opened(revision.digest):
            pass
        assert await store.digests() == [revision.digest]
    assert here.backend.reads == 3


async def test_an_unknown_revision_is_missing(here: Machine) -> None:
    with pytest.raises(ArtifactMissing, match="0" * 64):
        async with here.distributor.opened("0" * 64):
            pass
    assert here.staged() == []


async def test_a_name_that_is_not_a_digest_is_refused(here: Machine) -> None:
    with pytest.raises(Refused, match="is not the digest of a revision"):
        async with here.distributor.opened("../../etc"):
            pass
    assert here.backend.looks == 0


@pytest.mark.parametrize("harm", ["byte", "cut", "empty", "garbage", "another", "bomb"])
async def test_a_damaged_download_is_not_used(
    here: Machine, there: Machine, data_dir: Path, package: Path, tmp_path: Path, harm: str
) -> None:
    revision = await here.publish(package)
    tar = tar_of(data_dir, revision.digest)
    content = tar.read_bytes()
    match harm:
        case "byte":
            tar.write_bytes(content.replace(b"title: x", b"title: y"))
        case "cut":
            tar.write_bytes(content[:1000])
        case "empty":
            tar.write_bytes(b"")
        case "garbage":
            tar.write_bytes(os.urandom(5000))
        case "another":
            other = await here.publish(write_tree(tmp_path / "sum", {"problem.yaml": "{}"}))
            tar.write_bytes(tar_of(data_dir, other.digest).read_bytes())
        case "bomb":
            bomb = tmp_path / "bomb"
            with tarfile.open(bomb, "w:gz") as packed:
                (tmp_path / "zeros").write_bytes(bytes(10 * MIB))
                packed.add(tmp_path / "zeros", "sum/zeros")
            tar.write_bytes(bomb.read_bytes())
    with pytest.raises(RevisionDamaged, match="damaged during its download"):
        async with there.distributor.opened(revision.digest):
            pass
    assert await there.revisions.digests() == []
    assert there.staged() == []
    tar.write_bytes(content)
    async with there.distributor.opened(revision.digest) as opened:
        assert opened.digest == revision.digest


async def test_a_damaged_local_revision_is_fetched_again(
    here: Machine, there: Machine, package: Path
) -> None:
    revision = await here.publish(package)
    async with there.distributor.opened(revision.digest) as opened:
        path = opened.directory / "problem.yaml"
    path.chmod(0o644)
    path.write_text("title: y\n")
    restarted = RevisionStore(there.root, 100 * MIB)
    distributor = RevisionDistributor(Artifacts(there.backend), restarted)
    async with distributor.opened(revision.digest):
        assert path.read_text() == "title: x\n"


async def test_a_revision_too_large_for_this_machine_is_unavailable(
    here: Machine, data_dir: Path, package: Path
) -> None:
    write_tree(package, {"testdata/1.in": "1" * 2 * MIB})
    revision = await here.publish(package)
    store = RevisionStore(data_dir / "revisions-small", MIB)
    small = Machine(data_dir / "revisions-small", data_dir, store)
    with pytest.raises(Unavailable, match="DEEMSTER_REVISIONS_MB"):
        async with small.distributor.opened(revision.digest):
            pass
    assert small.staged() == []


async def test_a_directory_that_can_not_be_written_is_reported(data_dir: Path) -> None:
    (data_dir / "file").touch()
    place = data_dir / "file" / "revisions"
    distributor = Machine(place, data_dir, RevisionStore(place, MIB)).distributor
    with pytest.raises(Unavailable, match="DEEMSTER_DATA_DIR"):
        async with distributor.opened("0" * 64):
            pass


# ---- many at once ----


async def open_once(machine: Machine, digest: str) -> Revision | Unavailable:
    try:
        async with machine.distributor.opened(digest) as revision:
            return revision
    except Unavailable as fault:
        return fault


def wait_for_a_fetch(machine: Machine, digest: str) -> None:
    wait_until(lambda: digest in machine.distributor._downloads._running)


def wait_for_requests(machine: Machine, digest: str, count: int) -> None:
    """Waits until one task fetches and the others wait for it."""
    wait_for_a_fetch(machine, digest)
    wait_until(lambda: machine.backend.looks)
    download = machine.distributor._downloads._running[digest]
    wait_until(lambda: len(download._callbacks or ()) >= count - 1)


@pytest.mark.parametrize("is_there", [True, False])
async def test_concurrent_requests_cause_one_fetch(
    here: Machine, there: Machine, data_dir: Path, package: Path, is_there: bool
) -> None:
    """A failed fetch fails for all tasks that waited for it."""
    digest = (await here.publish(package)).digest
    if not is_there:
        tar_of(data_dir, digest).unlink()
    there.backend.may_continue.clear()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(open_once(there, digest)) for _ in range(20)]
        await asyncio.to_thread(wait_for_requests, there, digest, 20)
        there.backend.may_continue.set()
    kinds = {type(task.result()) for task in tasks}
    assert kinds == {Revision if is_there else ArtifactMissing}
    assert there.backend.looks == 1
    assert there.backend.reads == (1 if is_there else 0)
    assert there.staged() == []


async def test_a_request_after_a_failed_fetch_tries_again(
    here: Machine, there: Machine, data_dir: Path, package: Path
) -> None:
    digest = (await here.publish(package)).digest
    tar = tar_of(data_dir, digest)
    tar.rename(data_dir / "aside")
    assert isinstance(await open_once(there, digest), ArtifactMissing)
    (data_dir / "aside").rename(tar)
    assert isinstance(await open_once(there, digest), Revision)


async def test_when_a_fetch_is_cancelled_a_waiting_task_fetches(
    here: Machine, there: Machine, package: Path
) -> None:
    digest = (await here.publish(package)).digest
    there.backend.may_continue.clear()
    async with asyncio.TaskGroup() as group:
        first = group.create_task(open_once(there, digest))
        await asyncio.to_thread(wait_for_requests, there, digest, 1)
        second = group.create_task(open_once(there, digest))
        await asyncio.to_thread(wait_for_requests, there, digest, 2)
        first.cancel()
        there.backend.may_continue.set()
    assert first.cancelled()
    assert isinstance(second.result(), Revision)
    assert there.staged() == []


WORKER = """
import asyncio, pathlib, sys
from deemster.problems.revision import RevisionStore
from deemster.problems.distribution import RevisionDistributor
from deemster.store.artifacts import Artifacts
from deemster.store.artifacts.files import FileBackend

class Logged(FileBackend):
    def read(self, name):
        with open(sys.argv[3], "a") as log:
            log.write("read\\n")
        return super().read(name)

async def main(data_dir, root, log, digest):
    artifacts = Artifacts(Logged(pathlib.Path(data_dir) / "artifacts"))
    distributor = RevisionDistributor(artifacts, RevisionStore(pathlib.Path(root), 100 << 20))
    print("ready", flush=True)
    sys.stdin.readline()
    async with distributor.opened(digest) as revision:
        assert (revision.directory / "problem.yaml").read_text() == "title: x\\n"

asyncio.run(main(*sys.argv[1:]))
"""


async def test_processes_of_one_machine_fetch_once(
    here: Machine, data_dir: Path, package: Path
) -> None:
    write_tree(package, {"testdata/1.in": "1" * 20 * MIB})
    digest = (await here.publish(package)).digest
    root, log = data_dir / "revisions-there", data_dir / "log"
    argv = [sys.executable, "-c", WORKER, str(data_dir), str(root), str(log), digest]
    pipe = subprocess.PIPE
    workers = [
        await asyncio.create_subprocess_exec(*argv, stdin=pipe, stdout=pipe) for _ in range(4)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert await worker.stdout.readline() == b"ready\n"
    async with asyncio.TaskGroup() as group:
        for worker in workers:
            group.create_task(worker.communicate(b"go\n"))
    assert [worker.returncode for worker in workers] == [0] * 4
    assert log.read_text() == "read\n"
    assert list((root / STAGING).iterdir()) == []


async def test_a_process_that_waits_continues_after_the_other_has_ended(
    here: Machine, there: Machine, package: Path
) -> None:
    digest = (await here.publish(package)).digest
    place = there.revisions.make_staging() / digest
    place.mkdir()
    (place / "half.tar").touch()
    async with asyncio.TaskGroup() as group:
        with locked(place, fcntl.LOCK_EX):
            task = group.create_task(open_once(there, digest))
            await asyncio.to_thread(wait_for_a_fetch, there, digest)
            assert there.backend.looks == 0
    assert isinstance(task.result(), Revision)
    assert there.staged() == []


# ---- killed ----

KILLED = """
import asyncio, json, pathlib, sys
from deemster.directory_store import remove_tree
from deemster.problems.revision import RevisionStore
from deemster.problems.distribution import RevisionDistributor
from deemster.store.artifacts import Artifacts
from tests.killed_child import status_of_killed_child

data_dir, root, digest = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]

async def fetch():
    revisions = RevisionStore(root, 1 << 20)
    distributor = RevisionDistributor(Artifacts.open(None, data_dir), revisions)
    async with distributor.opened(digest):
        pass

def check():
    # Every revision is complete. It is removed, so that the next child fetches it again.
    store = RevisionStore(root, 1 << 20)
    found = asyncio.run(store.digests())
    if found:
        assert found == [digest]
        asyncio.run(store.verify(digest))
        remove_tree(root / digest)
    return bool(found)

steps, there = 0, 0
while status_of_killed_child(lambda: asyncio.run(fetch()), root, steps + 1):
    steps += 1
    there += check()
print(json.dumps({"steps": steps, "there": there}))
"""


async def test_a_fetch_killed_at_any_step_leaves_no_partial_revision(
    here: Machine, there: Machine, data_dir: Path, package: Path, tmp_path: Path
) -> None:
    digest = (await here.publish(package)).digest
    argv = [sys.executable, "-c", KILLED, str(data_dir), str(there.root), digest]
    run = await asyncio.to_thread(
        subprocess.run, argv, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    said = json.loads(run.stdout)
    assert said["steps"] > 20
    assert 0 < said["there"] < said["steps"]
    await there.revisions.import_package(write_tree(tmp_path / "other", FILES | {"x": "x"}))
    assert there.staged() == []
