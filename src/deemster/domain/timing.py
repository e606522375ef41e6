"""How time is judged: what is measured, when it is measured again, where a limit comes from.

The time of a case is the CPU time of the program's whole process tree; the clock on the wall
only ends programs that sleep or wait. A program is let run a tenth beyond its limit. Inside
that tenth noise may have decided, so the case is run again with the machine for itself, and
the better run counts. Beyond it the program is too slow.
"""

import math

GRACE = 1.10
"""How far beyond the limit a program is let run, and a case is run again."""
WALL_FACTOR = 2
WALL_MARGIN_MS = 3_000


def measured_cpu_ms(limit_ms: int) -> int:
    """The CPU time after which a program is ended."""
    return math.ceil(limit_ms * GRACE)


def wall_ms(limit_ms: int) -> int:
    """How long by the clock a program may take: generous, because other work delays it."""
    return WALL_FACTOR * measured_cpu_ms(limit_ms) + WALL_MARGIN_MS


def is_too_slow(cpu_ms: float, limit_ms: int) -> bool:
    return cpu_ms > limit_ms


def infer_limit_ms(slowest_accepted_ms: float, factor: float, resolution_ms: int) -> int:
    """The smallest multiple of the resolution that leaves accepted submissions their room."""
    steps = math.ceil(slowest_accepted_ms * factor / resolution_ms - 1e-9)
    return max(1, steps) * resolution_ms
