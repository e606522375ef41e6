"""A worker loads the files of toolchains into memory, so that no run reads them from disk."""

import os
from pathlib import Path

from deemster.domain.limits import MIB
from deemster.programs.build.languages import load_catalogue
from deemster.programs.build.toolchain import Toolchain, Toolchains
from deemster.sandbox.warm_up import load
from deemster.settings import load_settings
from deemster.wiring.judging import version_box
from deemster.wiring.warming_up import paths_of, toolchain_views, warm_up
from tests.sandbox.cached_file import BITS, bits_in_memory, forget, write_file
from tests.waiting import until

EVERYTHING = b"1" * BITS
NOTHING = b"0" * BITS


async def test_x9_files_are_loaded_when_a_worker_starts(tmp_path: Path) -> None:
    write_file(tmp_path)
    forget(tmp_path)
    await warm_up([str(tmp_path)], 64 * MIB)
    await until(lambda: bits_in_memory(tmp_path) == EVERYTHING)  # the disk may still be reading


async def test_nothing_is_loaded_beyond_the_limits(tmp_path: Path) -> None:
    write_file(tmp_path)
    forget(tmp_path)
    await warm_up([str(tmp_path)], 15 * MIB)
    assert load([tmp_path], 64 * MIB, deadline=0) == 0
    assert bits_in_memory(tmp_path) == NOTHING


async def test_the_files_are_those_that_boxes_of_the_language_show() -> None:
    [language] = [each for each in load_catalogue() if each.id == "python3"]
    toolchains = Toolchains(version_box=version_box(load_settings()))
    found = await toolchains.find_all([language])
    usable = [each for each in found if isinstance(each, Toolchain)]
    paths = paths_of(toolchain_views(usable))
    assert os.path.realpath("/usr/bin/python3") in paths  # noqa: ASYNC240 - once
    assert "/usr" not in paths
