"""The ways in which one run in the sandbox can end, and words for signals."""

import signal as signals
from enum import StrEnum
from typing import Final


class RunStatus(StrEnum):
    OK = "ok"
    TIME_LIMIT = "time_limit"
    WALL_LIMIT = "wall_limit"
    MEMORY_LIMIT = "memory_limit"
    OUTPUT_LIMIT = "output_limit"
    PROCESS_LIMIT = "process_limit"
    SIGNALLED = "signalled"
    NONZERO_EXIT = "nonzero_exit"
    FORBIDDEN_SYSCALL = "forbidden_syscall"
    CANCELLED = "cancelled"
    COMPILE_ERROR = "compile_error"
    INTERNAL_ERROR = "internal_error"


CLEARER_NAMES: Final = {
    signals.SIGFPE: "arithmetic error, such as a division by zero",
    signals.SIGXFSZ: "file too large",
    signals.SIGXCPU: "out of CPU time",
}
"""Where the system's own words mislead or are cut short."""


def signal_text(number: int) -> str:
    """Words that people understand: `segmentation fault (signal 11)`."""
    try:
        name = CLEARER_NAMES.get(signals.Signals(number)) or signals.strsignal(number)
    except ValueError:
        name = None
    return f"{name[0].lower()}{name[1:]} (signal {number})" if name else f"signal {number}"


def signal_name(number: int) -> str:
    """Its name in C: `SIGSEGV`."""
    try:
        return signals.Signals(number).name
    except ValueError:
        return str(number)
