"""Ties a process to its parent: however that ends, the kernel ends this one too."""

import ctypes
import os
import signal
import sys
from typing import Final

PR_SET_PDEATHSIG: Final = 1


def tie_to_parent(parent: int) -> None:
    """Killed, not asked: what a parent leaves behind can't be drained into a dead database."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:
        sys.exit("The parent ended before this process began.")
