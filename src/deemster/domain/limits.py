"""The resource limits of one run, and the rules for time limits.

The time of a case is the CPU time of the program's whole process tree; the wall-clock limit
only ends programs that sleep or wait. A program may run for 10 % more than its limit. If it
ends in that interval, noise may be the cause: the case is run again alone on the machine, and
the better run counts. After that interval the program is too slow.
"""

import math
from dataclasses import dataclass
from typing import Final

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """The defaults are those of a judged submission (X5)."""

    cpu_ms: int = 2_000
    wall_ms: int = 10_000
    memory_bytes: int = 256 * MIB
    processes: int = 64
    output_bytes: int = 64 * MIB
    """Most bytes that the program may write to each of stdout and stderr."""
    file_bytes: int = 64 * MIB
    """Size of the largest file that the program may write."""
    scratch_bytes: int = 64 * MIB
    scratch_inodes: int = 4_096
    open_files: int = 256
    stack_bytes: int = 0
    """0: only the memory limit bounds the stack."""
    cores: float = 1.0
    """CPU quota in cores; 0: none."""


GRACE = 1.10
"""A program is ended at this multiple of its limit."""
WALL_FACTOR = 2
WALL_MARGIN_MS = 3_000


def measured_cpu_ms(limit_ms: int) -> int:
    """The CPU time after which a program is ended."""
    return math.ceil(limit_ms * GRACE)


ANALYSIS_S: Final = 20.0
"""For all analysers of a program together (Q4)."""
COMPILE_S: Final = 60.0
"""Time for a compile, of the deadline of a job."""
CHECKERS_S: Final = 240.0
"""Time for two runs of a checker that reaches its wall limit."""
OVERHEAD_S: Final = 30.0
"""A job's time beyond its compile and the sum of its limits."""


def wall_ms(limit_ms: int) -> int:
    """The wall-clock limit: generous, because other processes delay the program."""
    return WALL_FACTOR * measured_cpu_ms(limit_ms) + WALL_MARGIN_MS


def is_too_slow(cpu_ms: float, limit_ms: int) -> bool:
    return cpu_ms > limit_ms


def infer_limit_ms(slowest_accepted_ms: float, factor: float, resolution_ms: int) -> int:
    """The slowest accepted time, times the factor, rounded up to the resolution."""
    steps = math.ceil(slowest_accepted_ms * factor / resolution_ms - 1e-9)
    return max(1, steps) * resolution_ms
