"""`deemster up` prints lines, and on a terminal a status line."""

import os
import subprocess
import sys

import pytest

from deemster.cli.up.display import QUIET_TURNS, Display

PROGRAM = """
import os, sys
from deemster.cli.up.display import Display
display = Display()
sys.stdin.readline()
for _ in range(3):
    display.say("said")
    display.status("so far")
display.close()
os.write(2, b"still here")
"""


def test_the_process_goes_on_when_nobody_reads_its_output() -> None:
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writing)
    os.close(reading)
    _, err = process.communicate("go\n")
    assert "still here" in err


def test_without_a_terminal_a_changed_status_is_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    display = Display()
    display.hint("only on a terminal")
    for text in ("one", "one", *["two"] * (QUIET_TURNS + 1), "three"):
        display.status(text)
    display.close()
    assert capsys.readouterr().out.splitlines() == ["one", "two"]
