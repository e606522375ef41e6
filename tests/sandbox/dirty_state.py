"""Runs a program in a box, and makes the state of this process unusual before, if told to."""

import asyncio
import ctypes
import os
import re
import resource
import signal
import sys
from pathlib import Path
from typing import Final

from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Command, Layers
from tests.sandbox.conftest import PATIENT, RUNNER, SANITIZED

LIBC: Final = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG, PR_SET_TIMERSLACK, PR_MCE_KILL, PR_SET_THP_DISABLE = 1, 29, 33, 41
ADDR_NO_RANDOMIZE = 0x0040000
SYS_KEYCTL, SYS_IOPRIO_SET, SYS_SET_MEMPOLICY = 250, 251, 238
KEYCTL_JOIN_SESSION_KEYRING = 1
IOPRIO_WHO_PROCESS, IOPRIO_IDLE = 1, 3 << 13
MPOL_LOCAL = 4
CAP_SYS_RESOURCE = 24
LOW_LIMITS: Final = {
    resource.RLIMIT_AS: 1 << 33,
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_CPU: 300,
    resource.RLIMIT_DATA: 1 << 33,
    resource.RLIMIT_FSIZE: 1 << 20,
    resource.RLIMIT_MEMLOCK: 4096,
    resource.RLIMIT_NOFILE: 128,
    resource.RLIMIT_RSS: 1 << 33,
    resource.RLIMIT_SIGPENDING: 100,
    resource.RLIMIT_STACK: 4 << 20,
}


def become_unusual() -> None:
    """Only root can undo a raised nice value, and only with CAP_SYS_RESOURCE a hard limit."""
    is_root, can_raise = os.geteuid() == 0, has_capability(CAP_SYS_RESOURCE)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR2, signal.SIGALRM})
    signal.setitimer(signal.ITIMER_REAL, 3600)
    for kind, limit in LOW_LIMITS.items():
        if kind in {resource.RLIMIT_AS, resource.RLIMIT_DATA} and SANITIZED:
            continue  # AddressSanitizer reserves terabytes
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (limit, limit if can_raise else hard))
    os.umask(0o077)
    if is_root:
        os.nice(5)
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    Path("/proc/self/oom_score_adj").write_text("500")
    Path("/proc/self/coredump_filter").write_text("0x7f")
    for option, value in (
        (PR_SET_TIMERSLACK, 1_000_000),
        (PR_SET_PDEATHSIG, signal.SIGUSR1),
        (PR_SET_THP_DISABLE, 1),
    ):
        check(LIBC.prctl(option, value, 0, 0, 0))
    check(LIBC.prctl(PR_MCE_KILL, 1, 1, 0, 0))
    check(LIBC.personality(ADDR_NO_RANDOMIZE))
    check(LIBC.syscall(SYS_IOPRIO_SET, IOPRIO_WHO_PROCESS, 0, IOPRIO_IDLE))
    check(LIBC.syscall(SYS_SET_MEMPOLICY, MPOL_LOCAL, None, 0))
    check(LIBC.syscall(SYS_KEYCTL, KEYCTL_JOIN_SESSION_KEYRING, b"unusual"))
    os.set_inheritable(os.open("/dev/null", os.O_RDONLY), True)


def has_capability(number: int) -> bool:
    [held] = re.findall(r"CapEff:\s+(\w+)", Path("/proc/self/status").read_text())
    return bool(int(held, 16) >> number & 1)


def check(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


async def run(code: Path) -> bytes:
    # Some of the state can be read only without the filter, which changes none of it.
    layers = Layers.ALL & ~Layers.SECCOMP
    cpus = (min(os.sched_getaffinity(0)),)
    async with Boxes.open(layers=layers, cpus=cpus, runner=RUNNER) as boxes:
        report = await boxes.run(Command(("/code/attack",), limits=PATIENT, code=code))
    return report.stdout


if __name__ == "__main__":
    if sys.argv[1] == "unusual":
        become_unusual()
    sys.stdout.buffer.write(asyncio.run(run(Path(sys.argv[2]))))
