"""Reads the operator's ceilings for problems and executions from the settings (X5)."""

from typing import Final

from deemster.domain.execution import ExecutionLimits
from deemster.domain.limits import MIB
from deemster.domain.problem_ceilings import ProblemCeilings
from deemster.settings.settings import Settings

LANGUAGE_SERVER_OUTPUT_MB: Final = 32
"""A language server that has written more is ended, and the client gets a new one."""


def problem_ceilings(settings: Settings) -> ProblemCeilings:
    return ProblemCeilings(
        time_ms=round(settings.problem_time_s * 1000),
        memory_bytes=settings.problem_memory_mb * MIB,
        output_bytes=settings.problem_output_mb * MIB,
        cases=settings.problem_cases,
        passes=settings.problem_passes,
    )


def ceiling_of(settings: Settings) -> ExecutionLimits:
    wall_ms = round(settings.execution_wall_s * 1000)
    return ExecutionLimits(
        wall_ms=wall_ms,
        cpu_ms=wall_ms,
        memory_bytes=settings.execution_memory_mb * MIB,
        processes=settings.execution_processes,
        output_bytes=settings.execution_output_kb * 1024,
        stack_bytes=settings.execution_memory_mb * MIB,
        cores=settings.execution_cores,
    )


def language_server_limits(settings: Settings) -> ExecutionLimits:
    wall_ms = round(settings.live_wall_s * 1000)
    return ExecutionLimits(
        wall_ms=wall_ms,
        cpu_ms=wall_ms,
        memory_bytes=settings.language_server_memory_mb * MIB,
        output_bytes=LANGUAGE_SERVER_OUTPUT_MB * MIB,
        cores=settings.execution_cores,
    )
