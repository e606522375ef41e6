"""Packages become revisions that never change (J9)."""

import asyncio
import fcntl
import json
import os
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from deemster.domain.errors import Refused, Unavailable
from deemster.domain.limits import MIB
from deemster.locks import lock_directory
from deemster.problems.archive import Bounds
from deemster.problems.revision import KEPT_S, STAGING, Revision, RevisionStore
from tests.problems.trees import read_tree, unseal, write_tree
from tests.waiting import until, wait_until

FILES = {"testdata/1.in": "1\n", "testdata/1.out": "1\n", "problem.yaml": "title: x\n"}


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "data" / "revisions"
    yield path
    if path.exists():
        unseal(path)


@pytest.fixture
def store(root: Path) -> RevisionStore:
    return RevisionStore(root, 100 * MIB)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "sum", FILES)


def kept(root: Path) -> set[str]:
    return {path.name for path in root.iterdir() if path.name != STAGING}


def staged(root: Path) -> list[Path]:
    return list((root / STAGING).iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# ---- importing and opening ----


async def test_a_package_becomes_a_revision_that_can_be_opened(
    store: RevisionStore, root: Path, package: Path
) -> None:
    revision = await store.import_package(package)
    assert len(revision.digest) == 64
    assert revision.directory == root / revision.digest / "sum"
    assert revision.problem.format == "hydro"
    assert read_tree(revision.directory) == {
        name: text.encode() for name, text in FILES.items()
    }
    async with store.opened(revision.digest) as opened:
        assert opened == revision
    assert await store.digests() == [revision.digest]
    assert staged(root) == []


async def test_a_revision_is_read_only_and_the_sandbox_can_read_it(
    store: RevisionStore, root: Path, package: Path
) -> None:
    write_tree(package, {"testdata/check/build": "#!/bin/sh\n"})
    (package / "testdata" / "check" / "build").chmod(0o700)
    (package / "problem.yaml").chmod(0o600)
    revision = await store.import_package(package)
    assert mode(root) == 0o700
    assert mode(revision.directory.parent) == 0o700
    assert mode(revision.directory) == 0o555
    assert mode(revision.directory / "testdata") == 0o555
    assert mode(revision.directory / "problem.yaml") == 0o444
    assert mode(revision.directory / "testdata" / "check" / "build") == 0o555


async def test_equal_content_in_any_archive_is_one_revision(
    store: RevisionStore, root: Path, package: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "sum.zip", "w") as archive:
        for name in reversed(FILES):
            archive.write(package / name, f"top/{name}")
    first = await store.import_package(package)
    second = await store.import_package(tmp_path / "sum.zip")
    assert first.digest == second.digest
    assert first.directory == second.directory
    assert kept(root) == {first.digest}


async def test_contents_names_and_execute_bits_change_the_digest(
    store: RevisionStore, package: Path
) -> None:
    async def digest() -> str:
        return (await store.import_package(package)).digest

    found = [await digest()]
    (package / "testdata" / "1.out").write_text("2\n")
    found.append(await digest())
    (package / "testdata" / "1.out").rename(package / "testdata" / "1.ans")
    found.append(await digest())
    (package / "problem.yaml").chmod(0o755)
    found.append(await digest())
    (package / "empty").mkdir()
    found.append(await digest())
    assert len(set(found)) == len(found)
    (package / "problem.yaml").touch()
    (package / "testdata" / "1.in").chmod(0o640)
    assert await digest() == found[-1]


async def test_a_later_change_of_the_package_does_not_change_its_revision(
    store: RevisionStore, package: Path
) -> None:
    async with store.imported(package) as revision:
        (package / "testdata" / "1.out").write_text("other\n")
        shutil.rmtree(package)
        assert (revision.directory / "testdata" / "1.out").read_text() == "1\n"
        await store.verify(revision.digest)


async def test_a_revision_imported_as_a_package_gets_the_same_digest(
    store: RevisionStore, tmp_path: Path
) -> None:
    """Preparing it again changes nothing."""
    package = write_tree(tmp_path / "dmoj", {"init.yml": "archive: a.zip\n"})
    with zipfile.ZipFile(package / "a.zip", "w") as archive:
        archive.writestr("1.in", "1\r\n")
        archive.writestr("1.out", "1\r\n")
    async with store.imported(package) as revision:
        assert (revision.directory / "_archive" / "1.in").read_bytes() == b"1\n"
        again = await store.import_package(revision.directory)
    assert again.digest == revision.digest


@pytest.mark.parametrize(
    ("name", "directory"),
    [("a b", "a-b"), ("задача", "problem"), (".x", "x"), ("about.json", "problem")],
)
async def test_a_revision_keeps_the_name_of_its_package(
    store: RevisionStore, tmp_path: Path, name: str, directory: str
) -> None:
    package = write_tree(tmp_path / name, FILES)
    assert (await store.import_package(package)).directory.name == directory


async def test_a_refused_package_leaves_no_files(
    store: RevisionStore, root: Path, package: Path
) -> None:
    write_tree(package, {"testdata/config.yaml": "type: objective"})
    with pytest.raises(Refused, match="'type'"):
        await store.import_package(package)
    (package / "link").symlink_to("/etc")
    with pytest.raises(Refused, match="leads outside"):
        await store.import_package(package)
    assert staged(root) == []
    assert kept(root) == set()


async def test_a_link_that_is_left_out_is_a_warning_of_the_problem(
    store: RevisionStore, package: Path
) -> None:
    (package / "link").symlink_to("/etc")
    async with store.imported(package, skip_outside_links=True) as revision:
        assert not (revision.directory / "link").exists()
        assert "The link 'link' leads outside" in revision.problem.warnings[0]


@pytest.mark.parametrize("digest", ["", "x", "../../etc", "A" * 64, "0" * 63, "0" * 64 + "\n"])
async def test_a_name_that_is_not_a_digest_is_refused(
    store: RevisionStore, digest: str
) -> None:
    with pytest.raises(Refused, match="is not the digest of a revision"):
        async with store.opened(digest):
            pass


async def test_a_missing_revision_is_refused(store: RevisionStore) -> None:
    with pytest.raises(Refused, match="import its package"):
        async with store.opened("0" * 64):
            pass


async def test_a_directory_that_can_not_be_written_is_reported(
    tmp_path: Path, package: Path
) -> None:
    (tmp_path / "file").touch()
    store = RevisionStore(tmp_path / "file" / "revisions", MIB)
    with pytest.raises(Unavailable, match="DEEMSTER_DATA_DIR"):
        await store.import_package(package)


async def test_the_bounds_of_the_store_hold(root: Path, package: Path) -> None:
    store = RevisionStore(root, 100 * MIB, Bounds(files=2))
    with pytest.raises(Refused, match="DEEMSTER_PACKAGE_FILES"):
        await store.import_package(package)


# ---- damage ----


def damage(revision: Revision) -> None:
    path = revision.directory / "testdata" / "1.out"
    path.chmod(0o644)
    path.write_text("9\n")
    path.chmod(0o444)


async def test_verify_finds_damage(store: RevisionStore, package: Path) -> None:
    revision = await store.import_package(package)
    await store.verify(revision.digest)
    damage(revision)
    with pytest.raises(Unavailable, match="damaged"):
        await store.verify(revision.digest)


async def test_damage_is_found_by_the_next_process_that_opens_it(
    store: RevisionStore, root: Path, package: Path
) -> None:
    revision = await store.import_package(package)
    damage(revision)
    with pytest.raises(Unavailable, match="damaged"):
        async with RevisionStore(root, 100 * MIB).opened(revision.digest):
            pass


async def test_the_content_is_checked_again_after_an_hour(root: Path, package: Path) -> None:
    """C3."""
    now_s = [0.0]
    store = RevisionStore(root, 100 * MIB, clock=lambda: now_s[0])
    digest = (await store.import_package(package)).digest
    async with store.opened(digest) as first, store.opened(digest) as second:
        assert second.problem is first.problem, "the problem was read twice"
    now_s[0] += KEPT_S
    async with store.opened(digest) as third:
        assert third == first
        assert third.problem is not first.problem
    damage(third)
    async with store.opened(digest) as fourth:
        assert fourth.problem is third.problem
    now_s[0] += KEPT_S
    with pytest.raises(Unavailable, match="damaged"):
        async with store.opened(digest):
            pass


@pytest.mark.parametrize("harm", ["changed", "added", "gone", "about", "link"])
async def test_importing_again_repairs_a_damaged_revision(
    store: RevisionStore, root: Path, package: Path, harm: str
) -> None:
    revision = await store.import_package(package)
    revision.directory.chmod(0o755)
    match harm:
        case "changed":
            damage(revision)
        case "added":
            (revision.directory / "more").touch()
        case "gone":
            (revision.directory / "problem.yaml").unlink()
        case "about":
            (revision.directory.parent / "about.json").write_text("{")
        case "link":
            (revision.directory / "problem.yaml").unlink()
            (revision.directory / "problem.yaml").symlink_to("/nowhere")
    again = await store.import_package(package)
    assert again.digest == revision.digest
    await store.verify(again.digest)
    assert staged(root) == []


async def test_a_damaged_revision_in_use_is_not_replaced(
    store: RevisionStore, package: Path
) -> None:
    async with store.imported(package) as revision:
        damage(revision)
        with pytest.raises(Unavailable, match="in use"):
            await store.import_package(package)


# ---- eviction ----


def sized(tmp_path: Path, name: str, kib: int = 400) -> Path:
    content = name.encode() * (kib * 1024 // len(name))
    return write_tree(tmp_path / name, FILES | {"testdata/1.in": content.decode()})


async def test_the_least_recently_used_revision_is_evicted(root: Path, tmp_path: Path) -> None:
    store = RevisionStore(root, MIB)
    one = await store.import_package(sized(tmp_path, "one"))
    two = await store.import_package(sized(tmp_path, "two"))
    async with store.opened(one.digest):
        pass
    three = await store.import_package(sized(tmp_path, "three"))
    assert await store.digests() == [three.digest, one.digest]
    assert kept(root) == {one.digest, three.digest}
    assert staged(root) == []
    with pytest.raises(Refused):
        async with store.opened(two.digest):
            pass


async def test_a_revision_in_use_is_not_evicted(root: Path, tmp_path: Path) -> None:
    store = RevisionStore(root, MIB)
    other = RevisionStore(root, MIB)
    async with store.imported(sized(tmp_path, "one")) as one:
        two = await store.import_package(sized(tmp_path, "two"))
        async with other.opened(two.digest):
            three = await other.import_package(sized(tmp_path, "three"))
            assert kept(root) == {one.digest, two.digest, three.digest}
        four = await other.import_package(sized(tmp_path, "four"))
        assert kept(root) == {one.digest, four.digest}
        assert (one.directory / "problem.yaml").exists()


async def test_a_package_larger_than_the_store_is_refused(root: Path, tmp_path: Path) -> None:
    store = RevisionStore(root, MIB)
    one = await store.import_package(sized(tmp_path, "one"))
    with pytest.raises(Refused, match="DEEMSTER_REVISIONS_MB"):
        await store.import_package(sized(tmp_path, "large", kib=2000))
    assert kept(root) == {one.digest}


@pytest.mark.parametrize("about", ["[]", "{", '{"name": "../..", "size_bytes": 1}'])
async def test_a_revision_with_a_damaged_description_is_evicted_first(
    root: Path, tmp_path: Path, about: str
) -> None:
    store = RevisionStore(root, MIB)
    one = await store.import_package(sized(tmp_path, "one"))
    (one.directory.parent / "about.json").write_text(about)
    two = await store.import_package(sized(tmp_path, "two"))
    assert kept(root) == {two.digest}


# ---- concurrency ----

WORKER = """
import asyncio, pathlib, sys
from deemster.problems.revision import RevisionStore

async def main(root, max_bytes, rounds, *packages):
    store = RevisionStore(pathlib.Path(root), int(max_bytes))
    for number in range(int(rounds)):
        for package in packages:
            async with store.imported(pathlib.Path(package)) as revision:
                files = list(revision.directory.rglob("*"))
                assert len(files) == 4, files
                text = (revision.directory / "testdata" / "1.in").read_bytes()
                assert text, revision
                if number == 0:
                    print(revision.digest)

asyncio.run(main(*sys.argv[1:]))
"""


def run_workers(*argv: str) -> list[subprocess.Popen[str]]:
    command = [sys.executable, "-c", WORKER, *argv]
    return [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]


async def test_two_processes_import_the_same_package(root: Path, package: Path) -> None:
    workers = run_workers(str(root), str(100 * MIB), "20", str(package))
    said = [(await asyncio.to_thread(worker.communicate))[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    assert said[0] == said[1]
    assert kept(root) == set(said[0].split())
    assert staged(root) == []


async def test_two_processes_never_evict_revisions_that_the_other_uses(
    root: Path, tmp_path: Path
) -> None:
    packages = [str(sized(tmp_path, name)) for name in ("one", "two", "three", "four")]
    workers = run_workers(str(root), str(MIB), "15", *packages)
    for worker in workers:
        await asyncio.to_thread(worker.communicate)
    assert [worker.returncode for worker in workers] == [0, 0]
    assert len(kept(root)) <= 2
    assert staged(root) == []
    store = RevisionStore(root, MIB)
    for digest in kept(root):
        await store.verify(digest)


async def test_many_tasks_import_at_once(
    store: RevisionStore, root: Path, package: Path
) -> None:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(store.import_package(package)) for _ in range(20)]
    assert len({task.result().digest for task in tasks}) == 1
    assert staged(root) == []


async def test_a_cancelled_import_releases_its_revision(
    store: RevisionStore, root: Path, package: Path
) -> None:
    digest = (await store.import_package(package)).digest
    entered = asyncio.Event()

    async def hold() -> None:
        async with store.imported(package):
            entered.set()
            await asyncio.Event().wait()

    for wait_for_it in (True, False):
        async with asyncio.TaskGroup() as group:
            task = group.create_task(hold())
            if wait_for_it:
                await entered.wait()
            else:
                await asyncio.sleep(0)
            task.cancel()

    def is_released() -> bool:
        try:
            os.close(lock_directory(root / digest, fcntl.LOCK_EX | fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return staged(root) == []

    # The thread of an import that was cancelled early goes on.
    await until(is_released)


async def test_opening_waits_for_a_revision_that_is_being_replaced(
    store: RevisionStore, root: Path, tmp_path: Path, package: Path
) -> None:
    """The directory is replaced between the opening and the lock."""
    path = root / (await store.import_package(package)).digest
    entered, leave = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        async with store.opened(path.name):
            entered.set()
            await leave.wait()

    lock = lock_directory(path, fcntl.LOCK_EX)
    async with asyncio.TaskGroup() as group:
        group.create_task(hold())
        await asyncio.to_thread(wait_for_descriptors, path, 2)
        path.rename(tmp_path / "removed")
        await RevisionStore(root, 100 * MIB).import_package(package)
        os.close(lock)
        await entered.wait()
        with pytest.raises(BlockingIOError):
            lock_directory(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
        leave.set()
    unseal(tmp_path / "removed")


def wait_for_descriptors(path: Path, count: int) -> None:
    """Waits until this process has opened the directory that often."""
    descriptors = Path("/proc/self/fd")
    wait_until(lambda: sum(is_link_to(fd, path) for fd in descriptors.iterdir()) >= count)


def is_link_to(link: Path, path: Path) -> bool:
    try:
        return link.readlink() == path
    except FileNotFoundError:
        return False


# ---- killed ----

KILLED = """
import asyncio, json, pathlib, sys
from deemster.problems.revision import RevisionStore
from tests.killed_child import status_of_killed_child

root, package = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])

def import_package():
    asyncio.run(RevisionStore(root, 1 << 20).import_package(package))

def check():
    # Every revision is complete.
    store = RevisionStore(root, 1 << 20)
    for digest in asyncio.run(store.digests()):
        asyncio.run(store.verify(digest))

steps, published = 0, 0
while status_of_killed_child(import_package, root, steps + 1):
    steps += 1
    check()
    published += any(len(path.name) == 64 for path in root.glob("*"))
print(json.dumps({"steps": steps, "published": published}))
"""


async def test_an_import_killed_at_any_step_leaves_no_partial_revision(
    root: Path, package: Path
) -> None:
    run = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", KILLED, str(root), str(package)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    said = json.loads(run.stdout)
    assert said["steps"] > 20
    assert 0 < said["published"] < said["steps"]
    store = RevisionStore(root, MIB)
    revision = await store.import_package(package)
    assert kept(root) == {revision.digest}
    assert staged(root) == []
