"""Says in plain words why a run did not end well."""

import signal

from deemster.domain.limits import MIB, Limits
from deemster.domain.run_status import RunStatus
from deemster.sandbox.report import Report


def explain(report: Report, limits: Limits, runtime_bytes: int = 0) -> str:
    """One line for a report that isn't ok; the limits are those the program was promised."""
    cpu, wall = seconds(report.cpu_ns / 1e6), seconds(report.wall_ns / 1e6)
    cpu_limit, wall_limit = seconds(limits.cpu_ms), seconds(limits.wall_ms)
    output = megabytes(limits.output_bytes)
    words = {
        RunStatus.TIME_LIMIT: f"time limit: used {cpu} of CPU, allowed {cpu_limit}",
        RunStatus.WALL_LIMIT: f"wall-clock limit: ran {wall}, allowed {wall_limit}",
        RunStatus.MEMORY_LIMIT: f"memory limit: {memory(report, limits, runtime_bytes)}",
        RunStatus.OUTPUT_LIMIT: f"output limit: wrote more than {output}",
        RunStatus.PROCESS_LIMIT: "process limit: wanted more than "
        f"{limits.processes} processes or threads",
        RunStatus.FORBIDDEN_SYSCALL: f"forbidden system call: {report.syscall}",
        RunStatus.SIGNALLED: f"ended by {signal_name(report.signal or 0)}",
        RunStatus.NONZERO_EXIT: f"exit code {report.exit_code}",
    }
    return words.get(report.status, str(report.status).replace("_", " "))


def memory(report: Report, limits: Limits, runtime_bytes: int) -> str:
    used, allowed = megabytes(report.memory_bytes), megabytes(limits.memory_bytes)
    if runtime_bytes:
        allowed += f" and {megabytes(runtime_bytes)} for its runtime"
    return f"used {used}, allowed {allowed}"


def seconds(ms: float) -> str:
    return f"{ms / 1000:.1f} s" if ms >= 100 else f"{ms / 1000:.3f} s"


def megabytes(size: float) -> str:
    return f"{size / MIB:.0f} MB"


def signal_name(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
    return f"{name} ({(signal.strsignal(number) or 'unknown').lower()})"
