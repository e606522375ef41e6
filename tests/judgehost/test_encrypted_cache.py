"""Tests for encrypted_cache.py: what is on the disk, and for how long (M1)."""

import os
from pathlib import Path

import pytest

from deemster.judgehost.encrypted_cache import CHUNK_BYTES, EncryptedCache, encrypted_size
from deemster.judgehost.memory_directory import is_in_memory

DIGESTS = ["a" * 64, "b" * 64, "c" * 64]
SIZE = 1000


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def files_below(directory: Path) -> list[Path]:
    return [each for each in directory.rglob("*") if each.is_file()]


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, 2 * CHUNK_BYTES + 5])
def test_m1_content_comes_back_and_is_unreadable_on_disk(tmp_path: Path, size: int) -> None:
    content = (b"the secret case " * (size // 16 + 1))[:size]
    with EncryptedCache.open(tmp_path / "cache", 10 * CHUNK_BYTES) as cache:
        cache.put(DIGESTS[0], write(tmp_path / "tar", content))
        (kept,) = files_below(tmp_path / "cache")
        assert b"secret" not in kept.read_bytes()
        assert kept.stat().st_size == encrypted_size(size)
        assert DIGESTS[0] not in str(kept)
        assert cache.get(DIGESTS[0], tmp_path / "back")
        assert (tmp_path / "back").read_bytes() == content
    assert not files_below(tmp_path / "cache")


def test_the_least_recently_used_goes_first(tmp_path: Path) -> None:
    with EncryptedCache.open(tmp_path / "cache", 2 * encrypted_size(SIZE)) as cache:
        for digest in DIGESTS[:2]:
            cache.put(digest, write(tmp_path / "tar", os.urandom(SIZE)))
        assert cache.get(DIGESTS[0], tmp_path / "used")
        cache.put(DIGESTS[2], tmp_path / "tar")
        assert cache.digests == [DIGESTS[0], DIGESTS[2]]
        assert len(files_below(tmp_path / "cache")) == 2
        cache.put("d" * 64, write(tmp_path / "large", bytes(5 * SIZE)))
        assert len(cache.digests) == 2, "what is too large drops nothing"


@pytest.mark.parametrize("damage", ["changed", "cut", "missing"])
def test_a_damaged_file_is_dropped(tmp_path: Path, damage: str) -> None:
    with EncryptedCache.open(tmp_path / "cache", 10 * CHUNK_BYTES) as cache:
        cache.put(DIGESTS[0], write(tmp_path / "tar", bytes(CHUNK_BYTES + 1)))
        (kept,) = files_below(tmp_path / "cache")
        content = kept.read_bytes()
        if damage == "changed":
            kept.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        elif damage == "cut":
            kept.write_bytes(content[: 32 + CHUNK_BYTES + 16])  # exactly one chunk is left
        else:
            kept.unlink()
        assert not cache.get(DIGESTS[0], tmp_path / "back")
        assert not (tmp_path / "back").exists()
        assert cache.digests == []


def test_files_of_processes_that_ended_are_removed(tmp_path: Path) -> None:
    left = tmp_path / "cache" / "of-a-dead-process"
    left.mkdir(parents=True)
    write(left / "file", b"nobody has the key")
    with EncryptedCache.open(tmp_path / "cache", SIZE):
        assert not left.exists()


def test_memory_and_disks_are_told_apart() -> None:
    assert is_in_memory(Path("/dev/shm"))
    assert not is_in_memory(Path("/proc"))
