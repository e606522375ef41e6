"""Directories that processes share: published whole, held while in use, evicted by last use."""

import fcntl
import os
from pathlib import Path

import pytest

from deemster.directory_store import DirectoryStore, create, remove, staged, sweep
from deemster.locks import locked


@pytest.fixture
def staging(tmp_path: Path) -> Path:
    return tmp_path / "staging"


@pytest.fixture
def store(tmp_path: Path, staging: Path) -> DirectoryStore:
    store = DirectoryStore(tmp_path / "entries", staging, names=r"[a-z]")
    store.create_directories()
    return store


def add(store: DirectoryStore, staging: Path, name: str, size: int = 1) -> bool:
    with staged(staging) as place:
        (place / "file").write_bytes(bytes(size))
        lock = store.publish(place, name)
    if lock is not None:
        os.close(lock)
    return lock is not None


def size_of(path: Path) -> int:
    return (path / "file").stat().st_size


def names(store: DirectoryStore) -> list[str]:
    return [path.name for path in store.by_last_use()]


def test_the_first_entry_of_a_name_stays(store: DirectoryStore, staging: Path) -> None:
    assert add(store, staging, "a", size=1)
    assert not add(store, staging, "a", size=2)
    assert size_of(store.path("a")) == 1
    assert list(staging.iterdir()) == []


def test_an_entry_is_not_dropped_while_it_is_held(store: DirectoryStore, staging: Path) -> None:
    add(store, staging, "a")
    lock = store.hold("a")
    assert lock is not None
    assert not store.drop("a")
    os.close(lock)
    assert store.drop("a")
    assert store.hold("a") is None
    assert not store.drop("a")


def test_entries_that_were_not_used_for_longest_are_evicted(
    store: DirectoryStore, staging: Path
) -> None:
    for age, name in enumerate("abcd"):
        add(store, staging, name, size=10)
        os.utime(store.path(name), (1_000 + age, 1_000 + age))
    lock = store.hold("a")
    assert lock is not None
    os.close(lock)
    assert names(store) == ["b", "c", "d", "a"]
    assert store.evict(25, size_of) == 20
    assert names(store) == ["d", "a"]


def test_a_damaged_entry_is_evicted_whatever_the_limit(
    store: DirectoryStore, staging: Path
) -> None:
    add(store, staging, "a")
    add(store, staging, "b")
    assert store.evict(100, lambda path: None if path.name == "a" else 1) == 1
    assert names(store) == ["b"]


def test_names_that_are_no_entries_are_left_alone(store: DirectoryStore) -> None:
    store.path("lost+found").mkdir()
    assert store.evict(0, lambda _: None) == 0
    assert store.path("lost+found").is_dir()


def test_a_sweep_removes_only_directories_without_a_lock(staging: Path) -> None:
    used, lock = create(staging)
    unused, other = create(staging)
    os.close(other)
    assert sweep(staging) == 1
    assert used.is_dir()
    assert not unused.exists()
    remove(used, lock)
    assert list(staging.iterdir()) == []


def test_a_sweep_gives_up_while_a_directory_is_being_created(staging: Path) -> None:
    path, lock = create(staging)
    os.close(lock)
    with locked(staging, fcntl.LOCK_SH):
        assert sweep(staging) == 0
    assert path.is_dir()


def test_read_only_directories_are_removed_and_links_are_not_followed(
    staging: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o755)
    with staged(staging) as place:
        sealed = place / "sealed"
        sealed.mkdir()
        (sealed / "link").symlink_to(outside)
        (sealed / "file").touch()
        sealed.chmod(0o555)
    assert not place.exists()
    assert outside.stat().st_mode & 0o777 == 0o755
