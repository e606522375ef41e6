"""Tests for build/cache_key.py: everything that affects a compilation changes the key."""

import os
from dataclasses import replace
from pathlib import Path

from deemster.domain.language import Permissions
from deemster.domain.limits import Limits
from deemster.programs.build.cache_key import (
    cache_key,
    file_facts,
    step_facts,
    toolchain_facts,
)
from deemster.programs.build.languages import load_catalogue
from deemster.programs.build.toolchain import Toolchain


def key_of_files(**files: bytes) -> str:
    return cache_key(files=file_facts(files))


def test_bytes_moved_between_name_and_content_change_the_key() -> None:
    keys = [
        key_of_files(a=b"bc"),
        key_of_files(ab=b"c"),
        key_of_files(a=b"b", c=b""),
        key_of_files(a=b"", b=b"c"),
        key_of_files(),
    ]
    assert len(set(keys)) == len(keys)


def test_the_order_of_files_does_not_matter() -> None:
    assert key_of_files(a=b"1", b=b"2") == key_of_files(b=b"2", a=b"1")


def test_a_reinstalled_compiler_changes_the_key(tmp_path: Path) -> None:
    """J6: even if it prints the same version."""
    tool = tmp_path / "gcc"
    tool.write_bytes(b"one")
    os.utime(tool, (1000, 1000))
    toolchain = Toolchain(load_catalogue().named("c"), {"compiler": str(tool)}, "GCC 12")
    seen = [cache_key(toolchain=toolchain_facts(toolchain))]
    assert cache_key(toolchain=toolchain_facts(toolchain)) == seen[0]
    os.utime(tool, (2000, 2000))
    seen.append(cache_key(toolchain=toolchain_facts(toolchain)))
    tool.write_bytes(b"other")
    os.utime(tool, (2000, 2000))
    seen.append(cache_key(toolchain=toolchain_facts(toolchain)))
    tool.unlink()
    seen.append(cache_key(toolchain=toolchain_facts(toolchain)))
    other = replace(toolchain, version="GCC 13")
    seen.append(cache_key(toolchain=toolchain_facts(other)))
    assert len(set(seen)) == len(seen)


def test_the_sandbox_settings_are_part_of_the_key() -> None:
    plain = Permissions("compiler")
    sandboxes = [
        step_facts(plain, Limits(), {}),
        step_facts(replace(plain, base="program"), Limits(), {}),
        step_facts(replace(plain, allow=frozenset({"ptrace"})), Limits(), {}),
        step_facts(replace(plain, errno={"socket": "EACCES"}), Limits(), {}),
        step_facts(plain, Limits(scratch_inodes=1), {}),
        step_facts(plain, Limits(), {"GOFLAGS": "-x"}),
    ]
    keys = {cache_key(sandbox=each) for each in sandboxes}
    assert len(keys) == len(sandboxes)
