"""A program for test_boxes.py: opens boxes, kills their runner and closes them, and fails if a
process is left.
"""

import asyncio
import gc
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from deemster.privileges.capabilities import become_subreaper
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.cores import children_of
from tests.sandbox.conftest import RUNNER
from tests.waiting import wait_until

ROUNDS = 30


async def close_while_the_runner_restarts() -> None:
    for delay in range(ROUNDS):
        async with Boxes.open(runner=RUNNER) as boxes:
            os.kill(boxes.runner_pid, signal.SIGKILL)
            for _ in range(delay):
                await asyncio.sleep(0.0005)


def use_boxes() -> None:
    """Runs in a child process, which must have no children when the boxes are closed."""
    asyncio.run(close_while_the_runner_restarts())
    gc.collect()  # a runner that nobody waited for would print a warning
    left = described(children_of(os.getpid()))
    assert not left, left


def described(processes: list[int]) -> list[str]:
    found = []
    for process in processes:
        with suppress(OSError):
            words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
            found.append(b" ".join(words).decode(errors="replace") or f"zombie {process}")
    return found


def all_orphans_ended() -> bool:
    """Reaps orphans that have ended. The kernel kills slots shortly after their runner."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    return not children_of(os.getpid())


if __name__ == "__main__":
    become_subreaper()
    if (user := os.fork()) == 0:
        use_boxes()
        sys.exit()
    status = os.waitpid(user, 0)[1]
    wait_until(all_orphans_ended, why=lambda: described(children_of(os.getpid())))
    sys.exit(os.waitstatus_to_exitcode(status))
