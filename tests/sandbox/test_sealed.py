"""Sealed inputs: many runs share one, and none can change it."""

import asyncio
import tracemalloc
from pathlib import Path

import pytest

from deemster.domain.errors import Refused
from deemster.domain.limits import MIB
from deemster.domain.run_status import RunStatus
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Command
from deemster.sandbox.streams import SealedInput
from tests.sandbox.conftest import PATIENT, RUNNER, open_files, shell
from tests.waiting import until

pytestmark = pytest.mark.rootless

CHANGE = r"""
import fcntl, mmap, os
tries = 0
def refused(change):
    global tries
    tries += 1
    try:
        change()
    except (OSError, ValueError):
        return
    print("got through:", tries)

for flags in (os.O_RDWR, os.O_WRONLY, os.O_WRONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND):
    try:
        fd = os.open("/proc/self/fd/0", flags)
    except OSError:
        continue
    refused(lambda: os.write(fd, b"x"))
    refused(lambda: os.pwrite(fd, b"x", 1 << 20))
    refused(lambda: os.truncate(fd, 0))
    refused(lambda: mmap.mmap(fd, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE))
refused(lambda: os.write(0, b"x"))
refused(lambda: os.truncate(0, 0))
refused(lambda: os.truncate("/dev/stdin", 0))
refused(lambda: os.truncate(0, 1 << 20))
refused(lambda: os.posix_fallocate(0, 0, 1 << 20))
refused(lambda: mmap.mmap(0, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE))
refused(lambda: fcntl.fcntl(0, 1033, 0))
for mode in (0o777, 0):  # harmless if it is allowed
    try:
        os.fchmod(0, mode)
    except OSError:
        pass
print("tried" if tries >= 7 else "not tried", len(os.read(0, 100)))
"""


TEXT = b"line\n" * 1000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "input"
    path.write_bytes(TEXT)
    return path


def make_big(path: Path) -> None:
    path.parent.chmod(0o755)
    with path.open("wb") as file:
        for number in range(64):
            file.write(bytes([number]) * MIB)


def overwrite_and_delete(file: Path) -> None:
    file.write_bytes(b"other")
    file.unlink()


async def test_many_runs_read_one_sealed_input_at_once(file: Path) -> None:
    async with Boxes.open(slots=2, runner=RUNNER) as boxes:
        with await SealedInput.load(file) as sealed:
            runs = (boxes.run(shell("read a; wc -l"), stdin=sealed) for _ in range(20))
            reports = await asyncio.gather(*runs)
    assert {report.stdout.strip() for report in reports} == {b"999"}


async def test_no_program_can_change_a_sealed_input(file: Path) -> None:
    async with Boxes.open(slots=2, runner=RUNNER) as boxes:
        with SealedInput.from_file(file) as sealed:
            for _ in range(3):
                command = Command(("/usr/bin/python3", "-c", CHANGE), limits=PATIENT)
                report = await boxes.run(command, stdin=sealed)
                assert report.stdout == b"tried 100\n", report
                after = await boxes.run(shell("cat"), stdin=sealed)
                assert after.stdout == TEXT


async def test_a_sealed_input_does_not_change_with_its_file(file: Path) -> None:
    async with Boxes.open(runner=RUNNER) as boxes:
        with SealedInput.from_file(file) as sealed:
            overwrite_and_delete(file)
            assert (await boxes.run(shell("cat"), stdin=sealed)).stdout == TEXT
            assert sealed.size_bytes == len(TEXT)


async def test_a_big_file_uses_no_memory_of_python(tmp_path: Path) -> None:
    make_big(tmp_path / "big")
    tracemalloc.start()
    sealed = await SealedInput.load(tmp_path / "big")
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < MIB
    async with Boxes.open(runner=RUNNER) as boxes:
        with sealed:
            report = await boxes.run(shell("cksum"), stdin=sealed)
        expected = await boxes.run(shell("cksum < /data/big", data=tmp_path))
    assert report.stdout == expected.stdout
    assert sealed.size_bytes == 64 * MIB


async def test_an_empty_file_can_be_an_input(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    async with Boxes.open(runner=RUNNER) as boxes:
        with SealedInput.from_file(tmp_path / "empty") as sealed:
            report = await boxes.run(shell("cat; echo end"), stdin=sealed)
    assert report.stdout == b"end\n"


async def test_a_run_that_has_started_can_read_a_closed_input(file: Path) -> None:
    async with Boxes.open(runner=RUNNER) as boxes:
        sealed = SealedInput.from_file(file)
        seen = bytearray()

        def close_early(chunk: bytes) -> None:
            sealed.close()
            seen.extend(chunk)

        report = await boxes.run(shell("echo x; cat"), stdin=sealed, stdout=close_early)
        assert report.status is RunStatus.OK
        assert seen == b"x\n" + TEXT
        with pytest.raises(Refused, match="closed"):
            await boxes.run(shell("cat"), stdin=sealed)
        sealed.close()


async def test_sealing_leaves_no_descriptor_open(tmp_path: Path) -> None:
    path = tmp_path / "big"
    path.write_bytes(bytes(4 * MIB))
    with await SealedInput.load(path):
        pass  # the threads and their descriptors exist now
    before = open_files()
    for _ in range(5):
        with await SealedInput.load(path):
            pass
        loading = asyncio.create_task(SealedInput.load(path))
        await asyncio.sleep(0)
        loading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await loading
    with pytest.raises(FileNotFoundError):
        SealedInput.from_file(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        SealedInput.from_file(tmp_path)
    await until(lambda: open_files() == before)  # a cancelled copy may take a moment to end
