"""Prints the output and the result of `deemster run`."""

import os
import select
from collections.abc import Callable
from typing import Any

from deemster.domain.language import LanguageId
from deemster.domain.limits import MIB, Limits
from deemster.domain.run_status import RunStatus, signal_text
from deemster.programs.build.compile import Compilation
from deemster.sandbox.wire import Report


def do_nothing() -> None:
    pass


class OutputStream:
    """Copies bytes to a descriptor, and drops them once the descriptor can't be written to."""

    def __init__(self, descriptor: int, when_closed: Callable[[], object] = do_nothing) -> None:
        self.when_closed = when_closed
        self._descriptor = descriptor
        self._at_line_start = True
        self._closed = False

    def __call__(self, data: bytes) -> None:
        if self._closed or not data:
            return
        self._at_line_start = data.endswith(b"\n")
        try:
            self._write(memoryview(data))
        except OSError:  # the reader has gone, or the disk is full
            self._closed = True
            self.when_closed()

    def print_line(self, text: str) -> None:
        """On a line of its own, also if the program's last line has no end."""
        self(("" if self._at_line_start else "\n").encode() + text.encode() + b"\n")

    def _write(self, view: memoryview) -> None:
        while view:
            try:
                view = view[os.write(self._descriptor, view) :]
            except BlockingIOError:  # the parent process made the descriptor non-blocking
                select.select([], [self._descriptor], [])


def as_object(
    report: Report, compilation: Compilation | None, language: LanguageId, version: str | None
) -> dict[str, Any]:
    """`version` is None if the toolchain could not be asked for it."""
    return {
        "status": str(report.status),
        "exit_code": report.exit_code,
        "signal": report.signal,
        "syscall": report.syscall,
        "cpu_ms": report.cpu_ns // 1_000_000,
        "wall_ms": report.wall_ns // 1_000_000,
        "memory_kb": report.memory_bytes // 1024,
        "stdout": report.stdout.decode(errors="replace"),
        "stderr": report.stderr.decode(errors="replace"),
        "compile": compilation
        and {
            "argv": list(compilation.argv),
            "output": compilation.output,
            "ms": compilation.ms,
        },
        "language": language,
        "version": version,
    }


def explain(report: Report, limits: Limits, runtime_bytes: int = 0) -> str:
    """One line that says why a run did not end well."""
    cpu, wall = seconds(report.cpu_ns / 1e6), seconds(report.wall_ns / 1e6)
    cpu_limit, wall_limit = seconds(limits.cpu_ms), seconds(limits.wall_ms)
    output = megabytes(limits.output_bytes)
    # Not the measured peak, which is above the limit if an earlier run's memory is freed late.
    memory = megabytes(limits.memory_bytes)
    if runtime_bytes:
        memory += f" and {megabytes(runtime_bytes)} for its runtime"
    reasons = {
        RunStatus.TIME_LIMIT: f"time limit: used {cpu} of CPU, allowed {cpu_limit}",
        RunStatus.WALL_LIMIT: f"wall-clock limit: ran {wall}, allowed {wall_limit}",
        RunStatus.MEMORY_LIMIT: f"memory limit: needed more than {memory}",
        RunStatus.OUTPUT_LIMIT: f"output limit: wrote more than {output}",
        RunStatus.PROCESS_LIMIT: "process limit: needed more than "
        f"{limits.processes} processes or threads",
        RunStatus.FORBIDDEN_SYSCALL: f"forbidden system call: {report.syscall}",
        RunStatus.SIGNALLED: signal_text(report.signal or 0),
        RunStatus.NONZERO_EXIT: f"exit code {report.exit_code}",
    }
    return reasons.get(report.status, str(report.status).replace("_", " "))


def seconds(ms: float) -> str:
    return f"{ms / 1000:.1f} s" if ms >= 100 else f"{ms / 1000:.3f} s"


def megabytes(size: float) -> str:
    return f"{size / MIB:.0f} MB"
