"""Tests for output.py: spooled outputs, excerpts, and output files in an untrusted scratch."""

import os
import resource
import socket
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deemster.domain.errors import Refused, Unavailable
from deemster.domain.limits import MIB
from deemster.domain.problem import Compare, Comparison
from deemster.pipeline.judge.compare import open_comparer
from deemster.programs.output import FileOutput, Spool, Tail
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.streams import SealedInput
from tests.sandbox.conftest import RUNNER, open_files, shell


@contextmanager
def files_up_to(size_bytes: int) -> Iterator[None]:
    """Imitates a full disk: the kernel refuses to write more than this to any file."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def names_in(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir()]


async def test_a_small_output_stays_in_memory(tmp_path: Path) -> None:
    with Spool(tmp_path / "missing") as spool:
        for _ in range(3):
            spool(b"hello\n")
        async with spool.as_input() as stdin:
            assert stdin == b"hello\n" * 3
        assert spool.size_bytes == 18


async def test_a_large_output_is_given_to_any_number_of_checkers(tmp_path: Path) -> None:
    """J2, J4: each checker reads the whole output from the beginning."""
    data = os.urandom(MIB) * 3
    with Spool(tmp_path) as spool:
        for start in range(0, len(data), 65_536):
            spool(data[start : start + 65_536])
        async with spool.as_input() as stdin, Boxes.open(runner=RUNNER) as boxes:
            assert isinstance(stdin, SealedInput)
            first = await boxes.run(shell("cat"), stdin=stdin)
            second = await boxes.run(shell("head -c 5; echo x > /dev/stdin"), stdin=stdin)
        assert first.stdout == data
        assert second.stdout == data[:5]
        async with spool.as_input() as again, Boxes.open(runner=RUNNER) as boxes:
            third = await boxes.run(shell("cat"), stdin=again)
        assert third.stdout == data
    assert names_in(tmp_path) == []


async def test_nothing_is_left_open_or_on_disk(tmp_path: Path) -> None:
    before = open_files()
    for _ in range(5):
        with Spool(tmp_path, memory_bytes=10) as spool:
            spool(b"x" * 100)
            assert names_in(tmp_path) == []
            async with spool.as_input():
                pass
    assert open_files() == before


def test_a_huge_output_costs_no_memory(tmp_path: Path) -> None:
    """J2: an output is never in memory as a whole."""
    chunk = b"x" * 65_536
    with Spool(tmp_path) as spool:
        tracemalloc.start()
        for _ in range(3_200):
            spool(chunk)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert spool.size_bytes == 3_200 * len(chunk)
    assert peak < MIB


async def test_a_full_disk_makes_the_judge_unavailable(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool, files_up_to(MIB):
        for _ in range(40):
            spool(b"x" * 65_536)
        with pytest.raises(Unavailable, match=r"1 MB could not be kept .* free some space"):
            async with spool.as_input():
                pass


async def test_full_memory_makes_the_judge_unavailable(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        for _ in range(40):
            spool(b"x" * 65_536)
        with files_up_to(MIB), pytest.raises(Unavailable, match="could not be kept"):
            async with spool.as_input():
                pass


async def test_a_missing_spool_directory_makes_the_judge_unavailable(tmp_path: Path) -> None:
    with Spool(tmp_path / "gone") as spool:
        spool(b"x" * MIB)
        spool(b"x" * MIB)
        with pytest.raises(Unavailable, match="gone"):
            async with spool.as_input():
                pass


async def test_a_file_can_be_added_to_a_spool(tmp_path: Path) -> None:
    path = tmp_path / "interactor.out"
    path.write_bytes(b"1 2 3\n" * 1_000)
    with Spool(tmp_path) as spool:
        spool.add_file(path)
        async with spool.as_input() as stdin:
            assert stdin == path.read_bytes()


def test_a_tail_keeps_the_end_and_passes_everything_on() -> None:
    passed: list[bytes] = []
    tail = Tail(passed.append)
    for _ in range(100):
        tail(b"x" * 1000)
    tail(b"end")
    assert sum(map(len, passed)) == 100_003
    assert tail.kept.endswith(b"xend")
    assert len(tail.kept) == 16_384


# ---- output files ----


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    path = tmp_path / "scratch"
    path.mkdir()
    return path


def read_output(scratch: Path, max_bytes: int = MIB) -> tuple[FileOutput, bytes]:
    seen = bytearray()
    output = FileOutput("out.txt", seen.extend, max_bytes)
    descriptor = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY)
    try:
        output(descriptor)
    finally:
        os.close(descriptor)
    return output, bytes(seen)


def test_a_written_file_is_compared_like_an_output(scratch: Path, tmp_path: Path) -> None:
    (tmp_path / "answer").write_bytes(b"1 2 3\n" * 50_000)
    (scratch / "out.txt").write_bytes(b"1 2 3\r\n" * 50_000)
    comparison = Comparison(mode=Compare.TOKENS)
    with open_comparer(comparison, tmp_path / "answer") as comparer:
        descriptor = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY)
        FileOutput("out.txt", comparer.feed, MIB)(descriptor)
        os.close(descriptor)
        assert comparer.finish() is None


def test_a_missing_file_is_the_programs_fault(scratch: Path) -> None:
    output, seen = read_output(scratch)
    assert (output.problem, seen) == ("The program wrote no file out.txt.", b"")


@pytest.mark.parametrize("kind", ["symbolic link", "hard link", "fifo", "socket", "directory"])
def test_only_a_regular_file_is_read(scratch: Path, tmp_path: Path, kind: str) -> None:
    """J8: the judge doesn't follow a link that a program created."""
    secret = tmp_path / "answer"
    secret.write_text("42")
    path = scratch / "out.txt"
    match kind:
        case "symbolic link":
            path.symlink_to(secret)
        case "hard link":
            path.hardlink_to(secret)
        case "fifo":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(str(path))
        case "directory":
            path.mkdir()
    output, seen = read_output(scratch)
    assert "not a regular file" in output.problem
    assert not output.is_too_big
    assert seen == b""


def test_a_file_within_the_limit_is_read(scratch: Path) -> None:
    (scratch / "out.txt").write_bytes(b"x" * 100_000)
    output, seen = read_output(scratch, max_bytes=100_000)
    assert (output.problem, output.is_too_big, len(seen)) == ("", False, 100_000)


def test_a_file_over_the_limit_is_not_read(scratch: Path) -> None:
    (scratch / "out.txt").touch()
    os.truncate(scratch / "out.txt", 1 << 40)
    output, seen = read_output(scratch)
    assert output.is_too_big
    assert "1,048,576" in output.problem
    assert seen == b""


def test_an_output_file_in_a_directory_is_refused() -> None:
    with pytest.raises(Refused):
        FileOutput("a/b", bytearray().extend, 1)
