"""Runs a function in a child process that kills itself before an operation on a directory."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

OPERATIONS = frozenset({"os", "open", "shutil", "tempfile", "fcntl"})


def status_of_killed_child(function: Callable[[], object], root: Path, step: int) -> int:
    """The child kills itself before its n-th operation below the root or on a lock. Returns the
    child's status: 0 if it has fewer operations.
    """
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    left = step

    def watch(event: str, args: tuple[object, ...]) -> None:
        nonlocal left
        is_below = str(root) in repr(args) or event == "fcntl.flock"
        if event.split(".", maxsplit=1)[0] in OPERATIONS and is_below:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    function()
    os._exit(0)
