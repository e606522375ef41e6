"""Python sees what the processes of a box do, whatever they call themselves."""

import subprocess
import sys

import pytest

from deemster.sandbox.activity import read_activity

pytestmark = pytest.mark.rootless

PROCESSES = r"""
import ctypes, os, signal, sys
PR_SET_PDEATHSIG, PR_SET_NAME = 1, 15
for _ in ("spawner", "init"):
    if os.fork():
        sys.stdin.read()
        sys.exit()
prctl = ctypes.CDLL(None).prctl
prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
prctl(PR_SET_NAME, b"\xff) S \n", 0, 0, 0)
print("named", flush=True)
while True:
    pass
"""


def test_no_name_hides_a_process() -> None:
    """X7: the name of a process need not be text."""
    argv, pipe = (sys.executable, "-c", PROCESSES), subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe) as spawner:
        assert spawner.stdin is not None
        assert spawner.stdout is not None
        try:
            assert spawner.stdout.readline() == b"named\n"
            assert read_activity(spawner.pid).is_ready
        finally:
            spawner.stdin.close()
