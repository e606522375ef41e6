"""X9: a run can't tell the next one anything by which pages of a shared file are in memory.

Each attack is tried without the layer that stops it, too, and must succeed there.
"""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from deemster.domain.limits import MIB
from deemster.domain.run_status import RunStatus
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Bind, Command, FilesView, Layers
from deemster.sandbox.visible_files import system_view
from tests.sandbox.cached_file import STRIDE, bits_in_memory, forget, write_file
from tests.sandbox.conftest import PATIENT, RUNNER

pytestmark = pytest.mark.rootless

SOURCE = Path(__file__).with_name("page_cache.c")
SECRET = b"1001101011110000101001110001110100101101000011110110010110101000"


@pytest.fixture
def shared() -> Iterator[Path]:
    """Makes a directory with a file on disk, for all boxes; /tmp may be in memory."""
    with TemporaryDirectory(dir="/var/tmp", prefix="deemster-") as name:
        write_file(Path(name))
        yield Path(name)


def remember(shared: Path) -> None:
    """Reads the page of each bit, without readahead: it makes folios of many pages."""
    forget(shared)
    with (shared / "file").open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        for bit in range(len(SECRET)):
            os.pread(file.fileno(), 1, bit * STRIDE)


@asynccontextmanager
async def open_boxes(
    shared: Path,
    layers: Layers = Layers.ALL,
    *,
    share_cpus: bool = False,
    keep_page_cache: bool = False,
) -> AsyncIterator[Boxes]:
    cpus = sorted(os.sched_getaffinity(0))
    async with Boxes.open(
        layers=layers,
        script_view=FilesView((*system_view().binds, Bind(shared, "/opt/shared"))),
        runner=RUNNER,
        cpus=cpus if share_cpus else cpus[:1],
        share_cpus=share_cpus,
        keep_page_cache=keep_page_cache,
    ) as boxes:
        yield boxes


async def run(boxes: Boxes, code: Path, action: str) -> bytes:
    command = Command(("/code/attack", action, "/opt/shared/file"), code=code, limits=PATIENT)
    report = await boxes.run(command, stdin=SECRET)
    assert report.status is RunStatus.OK, report
    return report.stdout


async def wait_until_clean(boxes: Boxes) -> None:
    """A box takes the next run when it has removed what the last one left."""
    assert (await boxes.run(Command(("/bin/true",), limits=PATIENT))).status is RunStatus.OK


async def test_x9_no_call_removes_or_reveals_pages(
    shared: Path, build: Callable[[Path], Path]
) -> None:
    code = build(SOURCE)
    everything = b"1" * len(SECRET)
    async with open_boxes(shared) as boxes:
        remember(shared)
        await run(boxes, code, "evict")
        assert await run(boxes, code, "nowait") == b"?" * len(SECRET)
        assert bits_in_memory(shared) == everything
    remember(shared)
    async with open_boxes(shared, Layers.ALL & ~Layers.SECCOMP) as boxes:
        await run(boxes, code, "evict")
        read = await run(boxes, code, "nowait")
    # On a busy machine a page may stay; without knowing the secret, half of the bits are right.
    assert sum(a == b for a, b in zip(read, SECRET, strict=True)) > 0.9 * len(SECRET)


@pytest.mark.parametrize("share_cpus", [False, True], ids=["one core", "all cores"])
async def test_x9_pages_that_a_run_has_read_are_removed_after_it(
    share_cpus: bool, shared: Path, build: Callable[[Path], Path]
) -> None:
    code = build(SOURCE)
    forget(shared)
    async with open_boxes(shared, share_cpus=share_cpus) as boxes:
        await run(boxes, code, "load")
        await wait_until_clean(boxes)
        assert bits_in_memory(shared) == b"0" * len(SECRET)
        assert await run(boxes, code, "faults") == b"0" * len(SECRET)


async def test_x9_pages_of_others_stay_in_memory(
    shared: Path, build: Callable[[Path], Path]
) -> None:
    """X9: what the host has read is not removed with what a run has read."""
    remember(shared)
    async with open_boxes(shared) as boxes:
        await run(boxes, build(SOURCE), "load")
        await wait_until_clean(boxes)
    assert bits_in_memory(shared) == b"1" * len(SECRET)


async def test_pages_that_a_trusted_program_has_read_stay_in_memory(
    shared: Path, build: Callable[[Path], Path]
) -> None:
    """`deemster languages --test` loads the toolchains for all later runs."""
    code = build(SOURCE)
    forget(shared)
    async with open_boxes(shared, keep_page_cache=True) as boxes:
        await run(boxes, code, "load")
    async with open_boxes(shared) as boxes:
        await wait_until_clean(boxes)
        assert await run(boxes, code, "faults") == SECRET
        await wait_until_clean(boxes)
    assert bits_in_memory(shared) == SECRET


async def test_j7_reading_a_file_does_not_lower_the_peak_of_the_memory(
    shared: Path, build: Callable[[Path], Path]
) -> None:
    """The page cache at the end is not subtracted from an earlier peak."""
    argv = ("/code/attack", "spend", "/opt/shared/file")
    command = Command(argv, code=build(SOURCE), limits=PATIENT)
    forget(shared)
    async with open_boxes(shared) as boxes:
        report = await boxes.run(command)
    assert report.status is RunStatus.OK, report
    assert 46 * MIB < report.memory_bytes < 56 * MIB


async def test_without_control_groups_pages_carry_a_message(
    shared: Path, build: Callable[[Path], Path]
) -> None:
    """The control of X9, and a weakness that docs/sandbox.md describes."""
    code = build(SOURCE)
    forget(shared)
    async with open_boxes(shared, Layers.ALL & ~Layers.CGROUP) as boxes:
        await run(boxes, code, "load")
        assert await run(boxes, code, "faults") == SECRET
