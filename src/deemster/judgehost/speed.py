"""Measures the speed of this machine by a reference program in the sandbox (M4)."""

from dataclasses import dataclass
from typing import Final

import structlog

from deemster.domain.errors import DeemsterError
from deemster.domain.limits import Limits
from deemster.domain.run_status import RunStatus
from deemster.domain.source import single_file
from deemster.programs.build.cached_compiler import BuildTools
from deemster.programs.build.toolchain import Toolchain
from deemster.programs.execute import execute
from deemster.sandbox.lanes import Lanes

log = structlog.get_logger()

RUNS: Final = 5
LIMITS: Final = Limits(cpu_ms=20_000, wall_ms=60_000)

IN_C: Final = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    enum { SIZE = 1 << 21, STEPS = 1 << 20 };
    uint32_t *next = malloc(SIZE * sizeof *next);
    uint64_t state = 88172645463325252u, sum = 0;
    for (uint32_t i = 0; i < SIZE; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        next[i] = state % SIZE;
    }
    for (uint32_t i = 0, at = 0; i < STEPS; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        at = (next[at] + state) & (SIZE - 1);
        sum += at % 7 * (state & 15);
    }
    printf("%llu\\n", (unsigned long long)sum);
}
"""
"""Computes with integers, and reads memory in an order that no cache foresees."""

IN_PYTHON: Final = """
state, found = 1, {}
for number in range(300_000):
    state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
    found[state % 5003] = found.get(state % 5003, 0) + number % 7
print(sum(found.values()))
"""


@dataclass(frozen=True, slots=True)
class Reference:
    language: str
    source: str
    reference_ms: float
    """Its CPU time on a machine whose speed is 1 (docs/judge-host-process.md)."""


REFERENCES: Final = (
    Reference("c", IN_C, 120.0),
    Reference("python3", IN_PYTHON, 250.0),
)


async def measure_speed(build_tools: BuildTools, lanes: Lanes) -> float | None:
    """The best of several runs, because other programs only make a run slower.

    None: this machine has no language in which the reference program is written.
    """
    for reference in REFERENCES:
        language = build_tools.catalogue.named(reference.language)
        try:
            toolchain = await build_tools.toolchains.require(language)
            cpu_ms = await best_time(build_tools, lanes, toolchain, reference.source)
        except DeemsterError as fault:
            log.warning("judgehost.speed_not_measured", error=str(fault))
            continue
        if cpu_ms is not None:
            return round(reference.reference_ms / cpu_ms, 3)
    return None


async def best_time(
    build_tools: BuildTools, lanes: Lanes, toolchain: Toolchain, text: str
) -> float | None:
    language = toolchain.language
    source = single_file(language, language.source.file, text.encode())
    async with (
        lanes.exclusive() as boxes,
        build_tools.compiler.built(boxes, toolchain, source) as build,
    ):
        if build.program is None:
            return None
        reports = [await execute(boxes, build.program, LIMITS) for _ in range(RUNS)]
    times = [each.cpu_ns / 1e6 for each in reports if each.status is RunStatus.OK]
    return max(min(times), 0.001) if times else None
