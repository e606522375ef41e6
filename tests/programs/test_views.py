"""A box shows what its language needs, and no other files of the host (X2)."""

import shutil
from pathlib import Path

import pytest

from deemster.domain.limits import Limits
from deemster.domain.run_status import RunStatus
from deemster.programs.build.languages import load_catalogue
from deemster.programs.build.toolchain import Toolchain
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Command, FilesView
from deemster.sandbox.runner import SandboxFault
from deemster.sandbox.visible_files import FileNeeds, make_view
from tests.programs.conftest import OpenLanguage
from tests.toolchains import TOOLCHAINS

LIMITS = Limits(cpu_ms=20_000, wall_ms=60_000)
INTERPRETER = str(Path("/usr/bin/python3").resolve())
LIST_FILES = """
import os
for folder, folders, files in os.walk("/"):
    if folder == "/proc":
        folders.clear()
    print(folder, *(os.path.join(folder, name) for name in folders + files), sep="\\n")
print(open("/proc/self/mountinfo").read())
"""
LIST_IN_C = """
#include <stdio.h>
#include <dirent.h>
int main(void) {
    DIR *opened = opendir("/usr/bin");
    puts(opened ? "tools" : "no tools");
}
"""


async def test_a_box_shows_what_its_language_needs_and_nothing_else(
    open_language: OpenLanguage,
) -> None:
    """X2: no other toolchains, no packages of the host, nothing below /usr/local."""
    async with open_language("python3") as python:
        report = await python.run(await python.build(LIST_FILES), LIMITS)
    assert report.status is RunStatus.OK, report
    seen = report.stdout.decode().splitlines()
    assert [path for path in seen if path.startswith("/usr/bin/")] == [INTERPRETER]
    for other in (
        "/usr/lib/gcc",
        "/usr/lib/jvm",
        "/usr/include",
        "/usr/local",
        "/root",
        "/home",
    ):
        assert other not in seen
    packages = [path for path in seen if "/site-packages/" in path or "/dist-packages/" in path]
    assert not packages
    mounts = [line.partition(" - ") for line in seen if " - " in line]
    on_disks = [
        mount.split()[3:5]
        for mount, _, source in mounts
        if source.split()[0] not in {"tmpfs", "devtmpfs", "proc"}
    ]
    assert INTERPRETER in {point for _, point in on_disks}
    for root, point in on_disks:
        # The source tells no more than the place in the box; /usr may be a disk of its own.
        assert point.endswith(root) or point == "/code"


async def test_a_compiled_program_sees_no_compiler(open_language: OpenLanguage) -> None:
    """X2: the boxes of the compiler and of the program differ."""
    async with open_language("c") as c:
        report = await c.run(await c.build(LIST_IN_C), LIMITS)
        compiler = {bind.target for bind in c.toolchain.views.compile.binds}
    assert report.stdout == b"no tools\n"
    assert "/usr/lib/gcc" in compiler
    assert not any("python" in path or "jvm" in path for path in compiler)


async def test_runs_of_different_views_take_turns_in_one_box(tmp_path: Path) -> None:
    """X2: what the run before could see is gone; a changed view is provided at once."""
    cat, ls = make_view(["/usr/bin/cat"]), make_view(["/usr/bin/ls"])
    readable = tmp_path / "code"
    readable.mkdir()
    async with Boxes.open(views=[cat]) as boxes:
        for view, works in ((cat, True), (None, True), (ls, False), (cat, True), (ls, False)):
            command = Command(("/usr/bin/cat", "/etc/hostname"), limits=LIMITS, view=view)
            if works:
                assert (await boxes.run(command)).stdout == b"box\n"
            else:
                assert await cannot_start(boxes, command)


async def cannot_start(boxes: Boxes, command: Command) -> bool:
    """A program that the box does not show is a fault of the judge, not of the program."""
    try:
        await boxes.run(command)
    except SandboxFault as fault:
        return "program-exec" in str(fault)
    return False


@pytest.mark.parametrize("language", ["c", "cpp", "java", "python3", "bash", "perl"])
async def test_no_view_shows_a_whole_top_directory(language: str) -> None:
    """X2: language files name what they need."""
    found = await TOOLCHAINS.find(load_catalogue().named(language))
    if not isinstance(found, Toolchain):
        pytest.skip(found.reason)
    for view in (found.views.compile, found.views.run):
        assert isinstance(view, FilesView)
        shown = {bind.target for bind in view.binds}
        assert not shown & {"/usr", "/usr/bin", "/usr/lib", "/usr/share", "/usr/local", "/etc"}


def test_views_that_share_needs_read_each_file_once(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    shutil.copy("/usr/bin/cat", tool)
    needs = FileNeeds()
    found = needs.of(tool)
    assert any(path.name == "libc.so.6" for path in found)
    tool.unlink()
    assert needs.of(tool) == found
    assert needs.of(tool.parent) == ()
    shared, own = make_view(["/usr/bin/cat"], needs=needs), make_view(["/usr/bin/cat"])
    assert shared == own == make_view(["/usr/bin/cat"], needs=needs)
