"""What `deemster up` shows: lines, or a live line where someone sits."""

import os
import subprocess
import sys

import pytest

from deemster.cli.up.display import QUIET_TURNS, Display

SAYS = """
import os, sys
from deemster.cli.up.display import Display
board = Display()
sys.stdin.readline()
for _ in range(3):
    board.say("said")
    board.state("so far")
board.close()
os.write(2, b"still here")
"""


def test_a_reader_that_has_gone_ends_nothing() -> None:
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", SAYS],
        stdin=subprocess.PIPE,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writing)
    os.close(reading)
    _, err = process.communicate("go\n")
    assert "still here" in err


def test_without_a_terminal_the_state_is_told_when_it_has_changed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    board = Display()
    board.hint("only where someone sits")
    for text in ("one", "one", *["two"] * (QUIET_TURNS + 1), "three"):
        board.state(text)
    board.close()
    assert capsys.readouterr().out.splitlines() == ["one", "two"]
