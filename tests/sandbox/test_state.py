"""Runs start from the same state, whoever started the service."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.rootless

DOCUMENTED = """
nice 0
scheduler 0
io priority 0
memory policy 0
umask 22
timer slack 50000
dumpable 1
secure bits 0
parent-death signal 0
huge pages off 0
memory failure policy 2
personality 0
process 2, parent 1, group 2, session 0
"""
CHANGING = re.compile(r"^(Vm|Rss|Hugetlb|voluntary|nonvoluntary|untag|x86_)", re.MULTILINE)


def state_seen_by_a_program(code: Path, start: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tests.sandbox.dirty_state", start, str(code)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    return "\n".join(line for line in lines if not CHANGING.match(line))


def test_a_run_starts_clean_whoever_started_the_service(build: Callable[[Path], Path]) -> None:
    """X10: compares what a program sees after an ordinary and after an unusual start."""
    code = build(Path(__file__).parent / "state.c")
    ordinary = state_seen_by_a_program(code, "ordinary")
    assert state_seen_by_a_program(code, "unusual") == ordinary
    assert "is not at its default" not in ordinary
    assert re.findall(r"descriptor (\d+)", ordinary) == ["0", "1", "2"]
    assert "unusual" not in ordinary
    if os.geteuid() == 0:
        assert DOCUMENTED in ordinary
