"""Turns the limits that a DOMjudge server sends into those of the sandbox."""

import re
from dataclasses import dataclass
from typing import Final

from deemster.domain.errors import Refused
from deemster.domain.limits import MIB, Limits
from deemster.judgehost.domjudge.tasks import RunConfig, ScriptLimits

KIB: Final = 1024
SCRIPT_PROCESSES: Final = 256
"""Compilers and runtimes of jury programs start many threads."""
SCRIPT_OUTPUT_BYTES: Final = 16 * MIB
"""Most that is read of what a script prints; its files have a limit of their own."""
SCRIPT_INODES: Final = 16_384
SCRIPT_OPEN_FILES: Final = 1024
RUN_SCRIPT_PROCESSES: Final = 1
"""The run script itself, if it does not replace itself by the program."""
TERM: Final = re.compile(r"(\d+(?:\.\d+)?)(s|%)")


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """A program that uses more than `soft_s` is too slow; at `hard_s` it is ended."""

    soft_s: float
    hard_s: float


def time_limit(config: RunConfig, overshoot: str) -> TimeLimit:
    """`overshoot` is the server's setting, such as `1s|10%`."""
    soft_s = config.time_limit
    return TimeLimit(soft_s, soft_s + overshoot_s(soft_s, overshoot) + (config.overshoot or 0))


def overshoot_s(limit_s: float, setting: str) -> float:
    """Reads one or two terms, `2s` or `10%`, joined by + (sum), | (larger) or & (smaller)."""
    parts = re.split(r"([+|&])", setting.replace(" ", ""))
    terms = [term_s(limit_s, part, setting) for part in parts[::2]]
    total = terms[0]
    for operator, term in zip(parts[1::2], terms[1:], strict=True):
        total = {"+": total + term, "|": max(total, term), "&": min(total, term)}[operator]
    return total


def term_s(limit_s: float, term: str, setting: str) -> float:
    found = TERM.fullmatch(term)
    if not found:
        raise Refused(
            f"The DOMjudge server's setting timelimit_overshoot is {setting!r}: use a form "
            "such as `1s|10%`."
        )
    number = float(found[1])
    return number if found[2] == "s" else limit_s * number / 100


def script_limits(config: ScriptLimits) -> Limits:
    """Limits for scripts of the jury. Files in the scratch directory count as memory, too."""
    ms = max(1, round(config.script_timelimit * 1000))
    file_bytes = config.script_filesize_limit * KIB
    return Limits(
        cpu_ms=ms,
        wall_ms=ms,
        memory_bytes=config.script_memory_limit * KIB + file_bytes,
        processes=SCRIPT_PROCESSES,
        output_bytes=min(file_bytes, SCRIPT_OUTPUT_BYTES),
        file_bytes=file_bytes,
        scratch_bytes=file_bytes,
        scratch_inodes=SCRIPT_INODES,
        open_files=SCRIPT_OPEN_FILES,
    )


def program_limits(config: RunConfig, limit: TimeLimit, *, wall_factor: float = 1) -> Limits:
    hard_ms = max(1, round(limit.hard_s * 1000))
    output_bytes = config.output_limit * KIB
    return Limits(
        cpu_ms=hard_ms,
        wall_ms=round(hard_ms * wall_factor),
        memory_bytes=config.memory_limit * KIB,
        processes=config.process_limit + RUN_SCRIPT_PROCESSES,
        output_bytes=output_bytes,
        file_bytes=output_bytes,
        scratch_bytes=output_bytes,
    )
