"""Tests for scratch.py: files are copied out of an untrusted scratch directory."""

import os
import socket
import stat
from pathlib import Path

import pytest

from deemster.programs import scratch as scratch_module
from deemster.programs.scratch import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_FILES,
    OutputCollector,
    list_scratch,
)


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    path = tmp_path / "scratch"
    path.mkdir()
    return path


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "target"
    path.mkdir()
    return path


def collect(
    scratch: Path, target: Path, max_files: int = MAX_FILES, max_bytes: int = MAX_BYTES
) -> str | None:
    collector = OutputCollector("out", target, max_files, max_bytes)
    descriptor = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY)
    try:
        collector(descriptor)
    finally:
        os.close(descriptor)
    return collector.problem


def test_a_copied_file_keeps_only_its_execute_bit(scratch: Path, target: Path) -> None:
    (scratch / "out").write_bytes(b"\x7fELF")
    (scratch / "out").chmod(0o6711)
    assert collect(scratch, target) is None
    assert (target / "out").read_bytes() == b"\x7fELF"
    assert stat.S_IMODE((target / "out").stat().st_mode) == 0o755


def test_the_content_of_a_directory_is_copied(scratch: Path, target: Path) -> None:
    (scratch / "out" / "a" / "b").mkdir(parents=True)
    (scratch / "out" / "Main$1.class").write_bytes(b"1")
    (scratch / "out" / "a" / "b" / "Ünter.class").write_bytes(b"2" * 3_000_000)
    (scratch / "other").write_text("left behind")
    assert collect(scratch, target) is None
    found = sorted(str(path.relative_to(target)) for path in target.rglob("*"))
    assert found == ["Main$1.class", "a", "a/b", "a/b/Ünter.class"]
    assert (target / "a" / "b" / "Ünter.class").stat().st_size == 3_000_000


def test_a_missing_output_is_reported(scratch: Path, target: Path) -> None:
    assert collect(scratch, target) == "There is no output 'out'."


@pytest.mark.parametrize("place", ["out", "out/inner"])
@pytest.mark.parametrize("kind", ["symlink", "dangling", "directory link", "fifo", "socket"])
def test_only_regular_files_are_copied(
    scratch: Path, target: Path, tmp_path: Path, kind: str, place: str
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of the host")
    path = scratch / place
    path.parent.mkdir(exist_ok=True)
    match kind:
        case "symlink":
            path.symlink_to(secret)
        case "dangling":
            path.symlink_to("/nowhere")
        case "directory link":
            path.symlink_to(tmp_path)
        case "fifo":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(str(path))
    assert "not a regular file" in (collect(scratch, target) or "")
    assert not list(target.iterdir())


def test_a_file_with_two_hard_links_is_refused(
    scratch: Path, target: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("of the host")
    (scratch / "out").hardlink_to(tmp_path / "secret")
    assert "one hard link" in (collect(scratch, target) or "")


def test_a_huge_sparse_file_is_refused_before_it_is_read(scratch: Path, target: Path) -> None:
    (scratch / "out").touch()
    os.truncate(scratch / "out", 1 << 40)
    assert collect(scratch, target) == "The output has more than 64 MB."
    assert not list(target.iterdir())


def test_bytes_are_counted_over_all_files(scratch: Path, target: Path) -> None:
    (scratch / "out").mkdir()
    for name in "abc":
        (scratch / "out" / name).write_bytes(b"x" * 1000)
    assert collect(scratch, target, max_bytes=2999) is not None


def test_files_and_directories_are_counted(scratch: Path, target: Path) -> None:
    (scratch / "out").mkdir()
    for number in range(10):
        (scratch / "out" / str(number)).mkdir()
    assert collect(scratch, target, max_files=9) == "The output has more than 9 files."


def test_deeply_nested_directories_are_refused(scratch: Path, target: Path) -> None:
    scratch.joinpath("out", *["d"] * (MAX_DEPTH + 2)).mkdir(parents=True)
    assert "directories deep" in (collect(scratch, target) or "")


def test_x12_paths_too_long_for_the_host_are_refused(scratch: Path, target: Path) -> None:
    scratch.joinpath("out", *["d" * 250] * 5).mkdir(parents=True)
    assert "path of more than" in (collect(scratch, target) or "")


def test_a_name_that_is_not_text_can_be_reported(scratch: Path, target: Path) -> None:
    (scratch / "out").mkdir()
    os.mkfifo(os.fsencode(scratch / "out") + b"/\xff\xfe")
    problem = collect(scratch, target)
    assert problem is not None
    problem.encode()


def listed(scratch: Path) -> list[str]:
    descriptor = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return list_scratch(descriptor)
    finally:
        os.close(descriptor)


def test_only_regular_files_with_plain_names_are_listed(scratch: Path) -> None:
    """X7"""
    deep = scratch.joinpath("d", *["x"] * 20)
    deep.mkdir(parents=True)
    for path in (scratch / "b", scratch / "d" / "a", deep / "too deep"):
        path.write_bytes(b"")
    (scratch / "link").symlink_to("/etc/passwd")
    (scratch / "directory").symlink_to("/etc")
    os.mkfifo(scratch / "pipe")
    for name in (b"\xff", b"line\nbreak", b"back\\slash"):
        (Path(os.fsdecode(bytes(scratch) + b"/" + name))).write_bytes(b"")
    (scratch / "unreadable").mkdir(mode=0)
    assert listed(scratch) == ["b", "d/a"]


def test_the_list_is_bounded_over_all_directories(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch_module, "MAX_FILES", 10)
    for number in range(20):
        (scratch / str(number)).mkdir()
        (scratch / str(number) / "file").write_bytes(b"")
    assert len(listed(scratch)) <= 10
