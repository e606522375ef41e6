"""Decides the result of one test run as DOMjudge does, and writes its metadata."""

import signal
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from deemster.domain.run_status import RunStatus
from deemster.domain.verdict import Verdict
from deemster.judgehost.domjudge.limits import TimeLimit
from deemster.sandbox.wire import Report

KILLED_EXIT_CODE: Final = 128 + signal.SIGKILL


class RunResult(StrEnum):
    CORRECT = "correct"
    WRONG_ANSWER = "wrong-answer"
    NO_OUTPUT = "no-output"
    TIMELIMIT = "timelimit"
    RUN_ERROR = "run-error"
    OUTPUT_LIMIT = "output-limit"


@dataclass(frozen=True, slots=True)
class ProgramEnd:
    """How the contestant's program ended, and what limited it."""

    report: Report
    limit: TimeLimit
    stdout_bytes: int
    stderr_bytes: int
    is_interactive: bool = False
    """An interactive program waits for the jury's: its wall time has only the hard limit."""

    @property
    def cpu_s(self) -> float:
        return self.report.cpu_ns / 1e9

    @property
    def wall_s(self) -> float:
        return self.report.wall_ns / 1e9

    @property
    def cpu_excess(self) -> int:
        """0: within the limit; 1: above the soft limit; 2: ended at the hard limit."""
        if self.report.status is RunStatus.TIME_LIMIT:
            return 2
        return int(self.cpu_s > self.limit.soft_s)

    @property
    def wall_excess(self) -> int:
        if self.report.status is RunStatus.WALL_LIMIT:
            return 2
        return int(self.wall_s > self.limit.soft_s and not self.is_interactive)

    @property
    def is_slow(self) -> bool:
        return max(self.cpu_excess, self.wall_excess) > 0

    @property
    def used(self) -> str:
        """Which of the two times counts: CPU time, unless only the wall time is too long."""
        return "wall-time" if self.wall_excess > self.cpu_excess else "cpu-time"

    @property
    def used_s(self) -> float:
        return self.wall_s if self.used == "wall-time" else self.cpu_s

    @property
    def exit_code(self) -> int:
        if self.report.exit_code is not None:
            return self.report.exit_code
        return 128 + self.report.signal if self.report.signal else KILLED_EXIT_CODE


def program_failure(run: ProgramEnd) -> RunResult | None:
    """The result if the program failed by itself; else its output decides."""
    if run.report.status is RunStatus.OUTPUT_LIMIT:
        return RunResult.OUTPUT_LIMIT
    if run.is_slow:
        return RunResult.TIMELIMIT
    return None if run.report.status is RunStatus.OK else RunResult.RUN_ERROR


def output_result(run: ProgramEnd, verdict: Verdict) -> RunResult:
    """The result of a program that ended well, from the verdict of the compare executable."""
    if verdict is Verdict.ACCEPTED:
        return RunResult.CORRECT
    if run.stdout_bytes == 0 and not run.is_interactive:
        return RunResult.NO_OUTPUT
    return RunResult.WRONG_ANSWER


def program_metadata(run: ProgramEnd) -> str:
    """The text that DOMjudge calls program.meta."""
    report = run.report
    names = ("", "soft-timelimit", "hard-timelimit")
    facts: dict[str, object] = {"exitcode": run.exit_code}
    if report.signal is not None:
        facts["signal"] = report.signal
    facts |= {
        "wall-time": f"{run.wall_s:.3f}",
        "cpu-time": f"{run.cpu_s:.3f}",
        "time-used": run.used,
        "time-result": names[max(run.cpu_excess, run.wall_excess)],
        "memory-bytes": report.memory_bytes,
        "stdout-bytes": run.stdout_bytes,
        "stderr-bytes": run.stderr_bytes,
    }
    truncated = {"stdout": report.stdout_truncated, "stderr": report.stderr_truncated}
    if any(truncated.values()):
        facts["output-truncated"] = ",".join(name for name, cut in truncated.items() if cut)
    return metadata_text(facts)


def metadata_text(facts: dict[str, object]) -> str:
    return "".join(f"{name}: {value}\n" for name, value in facts.items())


def explain(run: ProgramEnd, result: RunResult) -> str:
    """The text that DOMjudge calls system.out, for the jury."""
    report = run.report
    messages = {
        RunResult.CORRECT: "Correct!",
        RunResult.WRONG_ANSWER: "Wrong answer.",
        RunResult.NO_OUTPUT: "Program produced no output.",
        RunResult.TIMELIMIT: "Timelimit exceeded.",
        RunResult.OUTPUT_LIMIT: "Output limit exceeded.",
        RunResult.RUN_ERROR: f"Non-zero exitcode {run.exit_code}",
    }
    reasons = {
        RunStatus.MEMORY_LIMIT: "The program reached the memory limit.",
        RunStatus.PROCESS_LIMIT: "The program reached the process limit.",
        RunStatus.FORBIDDEN_SYSCALL: f"The system call {report.syscall} is forbidden.",
        RunStatus.SIGNALLED: f"Signal {report.signal} ended the program.",
    }
    lines = [messages[result]]
    if result is RunResult.RUN_ERROR and report.status in reasons:
        lines.append(reasons[report.status])
    lines.append(f"runtime: {run.cpu_s:.3f}s cpu, {run.wall_s:.3f}s wall")
    lines.append(f"memory used: {report.memory_bytes} bytes")
    return "\n".join(lines) + "\n"
