"""J7: the status of a run follows from how it ended."""

import signal

import pytest

from deemster.domain.limits import MIB, Limits
from deemster.domain.run_status import RunStatus
from deemster.sandbox.wire import End, RawReport, status_of

LIMITS = Limits(cpu_ms=1000, memory_bytes=64 * MIB)


def raw(end: End, code: int = 0, **more: int) -> RawReport:
    facts = {"arch": 0, "cpu_ns": 0, "wall_ns": 0, "memory_bytes": 0, "oom_kills": 0}
    facts |= {"process_refusals": 0, "error": 0, "ended_ns": 0} | more
    return RawReport(end=end, code=code, step="", **facts)


CASES = {
    "exit code 0": (raw(End.EXITED), RunStatus.OK),
    "another exit code": (raw(End.EXITED, 3), RunStatus.NONZERO_EXIT),
    "a signal": (raw(End.SIGNALLED, signal.SIGSEGV), RunStatus.SIGNALLED),
    "CPU limit": (raw(End.CPU), RunStatus.TIME_LIMIT),
    "RLIMIT_CPU": (raw(End.SIGNALLED, signal.SIGXCPU, cpu_ns=2 * 10**9), RunStatus.TIME_LIMIT),
    "a SIGXCPU that the program sent itself": (
        raw(End.SIGNALLED, signal.SIGXCPU),
        RunStatus.SIGNALLED,
    ),
    "exit 0 beyond the CPU limit": (raw(End.EXITED, cpu_ns=10**9), RunStatus.TIME_LIMIT),
    "wall limit": (raw(End.WALL), RunStatus.WALL_LIMIT),
    "both limits": (raw(End.WALL, cpu_ns=10**9), RunStatus.TIME_LIMIT),
    "out of memory": (raw(End.MEMORY), RunStatus.MEMORY_LIMIT),
    "a child out of memory": (raw(End.EXITED, oom_kills=1), RunStatus.MEMORY_LIMIT),
    "killed for memory": (
        raw(End.SIGNALLED, signal.SIGKILL, oom_kills=1),
        RunStatus.MEMORY_LIMIT,
    ),
    "exit 0 at the memory limit": (
        raw(End.EXITED, memory_bytes=64 * MIB),
        RunStatus.MEMORY_LIMIT,
    ),
    "too many processes": (raw(End.PROCESSES), RunStatus.PROCESS_LIMIT),
    "a refused fork that the program survived": (
        raw(End.EXITED, process_refusals=1),
        RunStatus.PROCESS_LIMIT,
    ),
    "a fork bomb that used all memory": (
        raw(End.MEMORY, oom_kills=1, process_refusals=9),
        RunStatus.PROCESS_LIMIT,
    ),
    "a forbidden call": (raw(End.FORBIDDEN, 41, oom_kills=1), RunStatus.FORBIDDEN_SYSCALL),
    "a file beyond its limit": (raw(End.SIGNALLED, signal.SIGXFSZ), RunStatus.SIGNALLED),
    "cancelled": (raw(End.CANCELLED), RunStatus.CANCELLED),
    "a fault of the sandbox": (raw(End.FAULT), RunStatus.INTERNAL_ERROR),
}


@pytest.mark.parametrize("case", CASES)
def test_j7_each_end_has_one_status(case: str) -> None:
    report, status = CASES[case]
    assert status_of(report, LIMITS, output_truncated=False) is status


@pytest.mark.parametrize("end", [End.CANCELLED, End.EXITED, End.SIGNALLED, End.CPU])
def test_j2_truncated_output_is_an_output_limit_however_the_run_ended(end: End) -> None:
    assert status_of(raw(end, 9), LIMITS, output_truncated=True) is RunStatus.OUTPUT_LIMIT


def test_x4_a_forbidden_call_outranks_truncated_output() -> None:
    status = status_of(raw(End.FORBIDDEN, 41), LIMITS, output_truncated=True)
    assert status is RunStatus.FORBIDDEN_SYSCALL
