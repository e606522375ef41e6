"""Tests for jury/checker.py: what is copied from a jury program's scratch directory."""

import os
from pathlib import Path

import pytest

from deemster.pipeline.judge.jury.checker import CheckerFiles
from deemster.programs.scratch import MAX_BYTES


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    (tmp_path / "target").mkdir()
    place = tmp_path / "scratch"
    (place / "feedback").mkdir(parents=True)
    return place


def collected(scratch: Path) -> CheckerFiles:
    files = CheckerFiles(scratch.parent / "target", extra_outputs=("tout",))
    directory = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY)
    try:
        files.collect(directory)
    finally:
        os.close(directory)
    return files


def test_j4_a_large_output_of_the_interactor_reaches_the_checker(scratch: Path) -> None:
    """A contestant can make it large, and must not get rid of the checker by that."""
    (scratch / "tout").touch()
    os.truncate(scratch / "tout", MAX_BYTES + 1)
    files = collected(scratch)
    assert (files.problem, files.collected("tout")) == ("", scratch.parent / "target" / "tout")


def test_j4_an_output_that_can_not_be_copied_is_a_problem(scratch: Path) -> None:
    assert collected(scratch).problem == ""
    (scratch / "tout").symlink_to("feedback")
    assert "not a regular file" in collected(scratch).problem
