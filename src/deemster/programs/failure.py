"""Says in words why a compiler or another tool did not finish in the sandbox."""

from deemster.domain.limits import MIB, Limits
from deemster.domain.run_status import RunStatus
from deemster.sandbox.wire import Report


def explain_end(report: Report, limits: Limits) -> str:
    """Continues a sentence that starts with the tool: 'The compiler …'."""
    reasons = {
        RunStatus.NONZERO_EXIT: f"failed with exit code {report.exit_code}",
        RunStatus.SIGNALLED: f"was ended by signal {report.signal}",
        RunStatus.TIME_LIMIT: f"needed more than {limits.cpu_ms / 1000:.0f} s of CPU time",
        RunStatus.WALL_LIMIT: f"did not finish within {limits.wall_ms / 1000:.0f} s",
        RunStatus.MEMORY_LIMIT: f"needed more than {limits.memory_bytes // MIB} MB of memory",
        RunStatus.OUTPUT_LIMIT: f"wrote more than {limits.output_bytes // MIB} MB",
        RunStatus.FORBIDDEN_SYSCALL: f"used the forbidden system call {report.syscall}",
    }
    return reasons.get(report.status, f"was stopped ({report.status})")
