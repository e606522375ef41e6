"""Describes how compiling and running ended, as Piston does: code, signal, status, message."""

import signal
from collections.abc import Mapping
from typing import Final

from deemster.api.compat.request_json import Object
from deemster.api.compat.runnable_languages import compiles
from deemster.api.executions import ShownExecution
from deemster.domain.execution import (
    CompileResult,
    ExecutionResult,
    ExecutionView,
    Stream,
    error_of,
    message_of,
)
from deemster.domain.language import Language
from deemster.domain.run_status import RunStatus, signal_name

KILLED: Final = signal.SIGKILL.name
RUNTIME_ERROR: Final = "RE"
SIGNALLED: Final = "SG"
TIMED_OUT: Final = "TO"
STDOUT_LIMIT: Final = "OL"
STDERR_LIMIT: Final = "EL"
INTERNAL_ERROR: Final = "XX"
KILLING: Final = frozenset({TIMED_OUT, STDOUT_LIMIT, STDERR_LIMIT})
STATUSES: Final[Mapping[RunStatus, str | None]] = {
    RunStatus.OK: None,
    RunStatus.NONZERO_EXIT: RUNTIME_ERROR,
    RunStatus.PROCESS_LIMIT: RUNTIME_ERROR,
    RunStatus.SIGNALLED: SIGNALLED,
    RunStatus.MEMORY_LIMIT: SIGNALLED,
    RunStatus.FORBIDDEN_SYSCALL: SIGNALLED,
    RunStatus.TIME_LIMIT: TIMED_OUT,
    RunStatus.WALL_LIMIT: TIMED_OUT,
}


def compile_stage(language: Language, view: ExecutionView) -> Object | None:
    """None if the language has no compiler; Piston knows no checks of the syntax."""
    result = view.result
    if result is None or result.compile is None or not compiles(language):
        return None
    return stage_of_compiler(result.compile, failed=result.status is RunStatus.COMPILE_ERROR)


def stage_of_compiler(compiled: CompileResult, *, failed: bool) -> Object:
    base = stage(stderr=compiled.output, output=compiled.output, wall_ms=compiled.ms)
    if not failed:
        return {**base, "code": 0}
    if compiled.status in {RunStatus.TIME_LIMIT, RunStatus.WALL_LIMIT}:
        return {
            **base,
            "signal": KILLED,
            "status": TIMED_OUT,
            "message": "Time limit exceeded",
        }
    return {
        **base,
        "code": 1,
        "status": RUNTIME_ERROR,
        "message": "Exited with error status 1",
    }


def run_stage(
    language: Language, shown: ShownExecution, output: bytes, compiled: Object | None
) -> Object:
    view, result = shown.view, shown.view.result
    if result is None:
        error = error_of(view)
        message = error[1] if error else "The execution was cancelled."
        return {**stage(), "status": INTERNAL_ERROR, "message": message}
    if result.status is RunStatus.COMPILE_ERROR:
        if compiled is not None:
            return compiled
        checked = result.compile or CompileResult(RunStatus.COMPILE_ERROR, "", 0)
        return stage_of_compiler(checked, failed=True)
    return {
        **stage(
            stdout=text(shown.output.get(Stream.STDOUT, b"")),
            stderr=text(shown.output.get(Stream.STDERR, b"")),
            output=text(output),
            wall_ms=round(result.wall_ms),
        ),
        "cpu_time": round(result.cpu_ms),
        "memory": result.memory_kb * 1024,
        **ending(result, view),
    }


def ending(result: ExecutionResult, view: ExecutionView) -> Object:
    status = status_of(result)
    has_exited = status in {None, RUNTIME_ERROR}
    return {
        "code": result.exit_code if has_exited else None,
        "signal": signal_of(result, status),
        "status": status,
        "message": message_for(result, view, status),
    }


def status_of(result: ExecutionResult) -> str | None:
    if result.status is RunStatus.OUTPUT_LIMIT:
        return STDOUT_LIMIT if result.stdout_truncated else STDERR_LIMIT
    return STATUSES.get(result.status, INTERNAL_ERROR)


def signal_of(result: ExecutionResult, status: str | None) -> str | None:
    """Limits kill a program, whatever signal it has received before."""
    if status in KILLING or result.status is RunStatus.MEMORY_LIMIT:
        return KILLED
    if result.status is RunStatus.FORBIDDEN_SYSCALL:
        return signal.SIGSYS.name
    return signal_name(result.signal or 0) if status == SIGNALLED else None


def message_for(result: ExecutionResult, view: ExecutionView, status: str | None) -> str | None:
    """Piston's own words, where it has some."""
    if status is None:
        return None
    own = {
        RunStatus.TIME_LIMIT: "Time limit exceeded",
        RunStatus.WALL_LIMIT: "Time limit exceeded (wall clock)",
        RunStatus.NONZERO_EXIT: f"Exited with error status {result.exit_code}",
        RunStatus.SIGNALLED: f"Caught fatal signal {result.signal}",
        RunStatus.OUTPUT_LIMIT: (
            f"{'stdout' if status == STDOUT_LIMIT else 'stderr'} length exceeded"
        ),
    }
    return own.get(result.status) or message_of(result, view.limits)


def stage(
    *, stdout: str = "", stderr: str = "", output: str = "", wall_ms: int | None = None
) -> Object:
    return {
        "stdout": stdout,
        "stderr": stderr,
        "output": output,
        "code": None,
        "signal": None,
        "memory": None,
        "message": None,
        "status": None,
        "cpu_time": None,
        "wall_time": wall_ms,
    }


def text(content: bytes) -> str:
    return content.decode(errors="replace")
