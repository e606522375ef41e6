"""`deemster up` of an ordinary user starts in the strongest mode that the machine allows."""

import os
import re
import shutil
import signal
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND
from tests.cli.up.conftest import left_without_processes
from tests.cli.up.privileges import read_privileges
from tests.wiring.as_ordinary_user import USER

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="as a user, test_up.py tests it")

ROOT = Path(__file__).parents[3]
PROGRAMS = {
    "Accepted": "print(sum(map(int, input().split())))",
    "Time Limit Exceeded": "while True: pass",
    "Memory Limit Exceeded": "x = bytearray(1 << 30); x[::4096] = x[::4096]",
    "Runtime Error": "import socket; socket.socket()",
}
WEAKNESS = re.compile(
    r"Limits of memory and CPU time are less exact than they could be, because this user has "
    r"no cgroup of its own: start `[^`]*\./dev up` instead\."
)


@pytest.fixture
def home() -> Iterator[Path]:
    """A directory of the user, which only they may enter."""
    directory = Path(tempfile.mkdtemp(prefix="deemster-home-"))
    os.chown(directory, USER.uid, USER.gid)
    yield directory
    shutil.rmtree(directory)


async def test_x8_an_ordinary_user_judges_programs_and_is_told_what_is_weaker(
    home: Path,
) -> None:
    """X8, X5: without root and without a cgroup, each limit still gives its verdict."""
    before = (sys.executable, "-P", "-m", "tests.wiring.as_ordinary_user", str(ROOT))
    async with left_without_processes(home, (*before, *COMMAND)) as up:
        await up.start(PYTHONPATH=str(ROOT))
        assert len(WEAKNESS.findall(" ".join(up.output.split()))) == 1, up.output
        seen = {verdict: await up.judge(text) for verdict, text in PROGRAMS.items()}
        assert seen == {verdict: verdict for verdict in PROGRAMS}
        found = [read_privileges(process) for process in up.processes().values()]
        for each in filter(None, found):
            assert each.no_new, each
            assert each.uids == {USER.uid}, each
        assert stat.S_IMODE(up.data.stat().st_mode) == 0o700
        assert await up.end(signal.SIGINT) == 0, up.output
