"""Rules for time limits: what is measured, when a case is run again, how limits are inferred.

The time of a case is the CPU time of the program's whole process tree; the wall-clock limit
only ends programs that sleep or wait. A program may run for 10 % more than its limit. If it
ends in that interval, noise may be the cause: the case is run again alone on the machine, and
the better run counts. After that interval the program is too slow.
"""

import math

GRACE = 1.10
"""A program is ended at this multiple of its limit."""
WALL_FACTOR = 2
WALL_MARGIN_MS = 3_000


def measured_cpu_ms(limit_ms: int) -> int:
    """The CPU time after which a program is ended."""
    return math.ceil(limit_ms * GRACE)


def wall_ms(limit_ms: int) -> int:
    """The wall-clock limit: generous, because other processes delay the program."""
    return WALL_FACTOR * measured_cpu_ms(limit_ms) + WALL_MARGIN_MS


def is_too_slow(cpu_ms: float, limit_ms: int) -> bool:
    return cpu_ms > limit_ms


def infer_limit_ms(slowest_accepted_ms: float, factor: float, resolution_ms: int) -> int:
    """The slowest accepted time, times the factor, rounded up to the resolution."""
    steps = math.ceil(slowest_accepted_ms * factor / resolution_ms - 1e-9)
    return max(1, steps) * resolution_ms
