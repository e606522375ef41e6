"""Shows an execution as Judge0 does: its fields and statuses, in answers and callbacks."""

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from deemster.domain.execution import (
    TIMEOUTS,
    ExecutionResult,
    ExecutionView,
    Stream,
    error_of,
)
from deemster.domain.ids import uuid_of
from deemster.domain.lifecycle import TERMINAL, State
from deemster.domain.run_status import RunStatus
from deemster.pipeline.deliver.judge0_values import (
    decimal,
    encode,
    same_output,
    text_of,
    timestamp,
    zipped,
)
from deemster.sandbox.failed_start import CANNOT_START, NOT_EXECUTABLE_CODE, NOT_FOUND_CODE
from deemster.store.executions import ExecutionSource

MULTI_FILE_MAIN: Final = "judge0_multi_file.sh"
"""The script that starts a program of several files."""
COMPILE_OUTPUT: Final = "judge0_compile_output"
COMPILE_FAILED: Final = "judge0_compile_failed"
"""Files that this script leaves behind."""
OWN_FILES: Final = frozenset({MULTI_FILE_MAIN, COMPILE_OUTPUT, COMPILE_FAILED})

STATUSES: Final = {
    1: "In Queue",
    2: "Processing",
    3: "Accepted",
    4: "Wrong Answer",
    5: "Time Limit Exceeded",
    6: "Compilation Error",
    7: "Runtime Error (SIGSEGV)",
    8: "Runtime Error (SIGXFSZ)",
    9: "Runtime Error (SIGFPE)",
    10: "Runtime Error (SIGABRT)",
    11: "Runtime Error (NZEC)",
    12: "Runtime Error (Other)",
    13: "Internal Error",
    14: "Exec Format Error",
}
QUEUED, PROCESSING, ACCEPTED, WRONG_ANSWER, TIME_LIMIT, COMPILE_ERROR = range(1, 7)
FILE_TOO_LARGE, NONZERO_EXIT, OTHER_ERROR, INTERNAL_ERROR, EXEC_FORMAT = 8, 11, 12, 13, 14
OF_SIGNAL: Final = {11: 7, 25: 8, 8: 9, 6: 10}
OF_FAILURE: Final = {
    RunStatus.TIME_LIMIT: TIME_LIMIT,
    RunStatus.WALL_LIMIT: TIME_LIMIT,
    RunStatus.OUTPUT_LIMIT: FILE_TOO_LARGE,
    RunStatus.FORBIDDEN_SYSCALL: OTHER_ERROR,
    RunStatus.INTERNAL_ERROR: INTERNAL_ERROR,
    RunStatus.CANCELLED: INTERNAL_ERROR,
}
"""All others are told by their signal, or else by their exit code."""

DEFAULT_FIELDS: Final = (
    "stdout",
    "time",
    "memory",
    "stderr",
    "token",
    "compile_output",
    "message",
    "status",
)
KEPT_FIELDS: Final = (
    "compiler_options",
    "command_line_arguments",
    "number_of_runs",
    "cpu_time_limit",
    "cpu_extra_time",
    "wall_time_limit",
    "memory_limit",
    "stack_limit",
    "max_processes_and_or_threads",
    "enable_per_process_and_thread_time_limit",
    "enable_per_process_and_thread_memory_limit",
    "max_file_size",
    "redirect_stderr_to_stdout",
    "enable_network",
)
"""Fields of the request that are answered as they came, or with their default."""
DECIMALS: Final = frozenset({"cpu_time_limit", "cpu_extra_time", "wall_time_limit"})
ARCHIVE_FIELDS: Final = frozenset({"additional_files", "post_execution_filesystem"})
SOURCE_FIELDS: Final = frozenset({"source_code", "stdin"}) | ARCHIVE_FIELDS
"""Fields that need the source."""
FIELDS: Final = (
    "source_code",
    "language_id",
    "stdin",
    "expected_output",
    "stdout",
    "status_id",
    "created_at",
    "finished_at",
    "time",
    "memory",
    "stderr",
    "token",
    *KEPT_FIELDS,
    "additional_files",
    "post_execution_filesystem",
    "compile_output",
    "exit_code",
    "exit_signal",
    "message",
    "wall_time",
    "callback_url",
    "status",
    "language",
)


CALLBACK_TIMEOUT_S: Final = 5.0
"""Time that Judge0 gives the receiver of a callback."""


class Judge0Submission:
    """An execution, as Judge0 shows it."""

    def __init__(self, view: ExecutionView, output: Mapping[Stream, bytes]) -> None:
        self.view = view
        self.client: Mapping[str, Any] = view.client or {}
        self.ended = view.state in TERMINAL
        self._output = output if self.ended else {}
        self._result = view.result if self.ended else None

    @property
    def status(self) -> int:
        if not self.ended:
            return PROCESSING if self.view.state is State.RUNNING else QUEUED
        result = self._result
        if result is None or self.view.state is not State.COMPLETED:
            return INTERNAL_ERROR
        if result.status is RunStatus.OK:
            return ACCEPTED if self._is_expected() else WRONG_ANSWER
        if self._could_not_start(result):
            return EXEC_FORMAT
        return status_of_failure(result, checks_syntax=self.client["checks_syntax"])

    def _could_not_start(self, result: ExecutionResult) -> bool:
        """Whether the kernel could not execute the program."""
        stderr = self._output.get(Stream.STDERR, b"")
        codes = (NOT_EXECUTABLE_CODE, NOT_FOUND_CODE)
        return result.exit_code in codes and stderr.startswith(CANNOT_START)

    def _is_expected(self) -> bool:
        expected = self.expected_output
        return expected is None or same_output(expected, self._output.get(Stream.STDOUT, b""))

    @property
    def expected_output(self) -> bytes | None:
        kept = self.client.get("expected_output")
        return None if kept is None else base64.b64decode(kept)

    @property
    def was_run(self) -> bool:
        """False if the program was not compiled, or if the judge failed."""
        return self.ended and self.status not in {COMPILE_ERROR, INTERNAL_ERROR}

    @property
    def _failed_check(self) -> str | None:
        """The message of a compiler that only checks; in Judge0 such a program is run."""
        result = self._result
        if self.status != NONZERO_EXIT or result is None or result.compile is None:
            return None
        return result.compile.output if result.status is RunStatus.COMPILE_ERROR else None

    @property
    def stderr(self) -> bytes:
        failed = self._failed_check
        return self._output.get(Stream.STDERR, b"") if failed is None else failed.encode()

    @property
    def compile_output(self) -> bytes:
        result = self._result
        if result is None:
            return b""
        if result.returned_files.get(COMPILE_OUTPUT):
            return result.returned_files[COMPILE_OUTPUT]
        if self.client["checks_syntax"] or result.compile is None:
            return b""
        if result.compile.status in TIMEOUTS:
            return b"Compilation time limit exceeded."
        return result.compile.output.encode(errors="replace")

    @property
    def exit_code(self) -> int | None:
        if not self.was_run or self._result is None:
            return None
        return 1 if self._failed_check is not None else self._result.exit_code or 0

    @property
    def message(self) -> str | None:
        """In the words of Judge0's sandbox, which clients show or search."""
        if not self.ended or self.status in {ACCEPTED, WRONG_ANSWER, COMPILE_ERROR}:
            return None
        if self._failed_check is not None:
            return f"Exited with error status {self.exit_code}"
        if self.view.state is State.CANCELLED:
            return "The submission was cancelled."
        result = self._result
        if self.status == EXEC_FORMAT:
            return self.stderr.decode(errors="replace").strip()
        words = {
            RunStatus.TIME_LIMIT: "Time limit exceeded",
            RunStatus.WALL_LIMIT: "Time limit exceeded (wall clock)",
            RunStatus.SIGNALLED: f"Caught fatal signal {result.signal if result else None}",
            RunStatus.NONZERO_EXIT: f"Exited with error status {self.exit_code}",
        }
        if result is not None and result.status in words:
            return words[result.status]
        error = error_of(self.view)
        return error[1] if error else "The program could not be run."

    def fields(
        self, names: Iterable[str], source: ExecutionSource | None, *, as_base64: bool
    ) -> dict[str, Any]:
        """Raises `NotUtf8` if a field would need base64."""
        return {name: self._field(name, source, as_base64=as_base64) for name in names}

    def _field(self, name: str, source: ExecutionSource | None, *, as_base64: bool) -> Any:
        if name in KEPT_FIELDS:
            kept = self.client.get(name)
            return decimal(kept) if name in DECIMALS and kept is not None else kept
        if name in ARCHIVE_FIELDS:
            files = self._files(name, source)
            return encode(zipped(files)) if files else None
        texts = self._texts(source)
        if name in texts:
            return text_of(texts[name](), as_base64=as_base64)
        result = self._result if self.was_run else None
        plain: dict[str, Any] = {
            "token": str(uuid_of(self.view.id)),
            "language_id": self.client["language"]["id"],
            "language": self.client["language"],
            "status_id": self.status,
            "status": {"id": self.status, "description": STATUSES[self.status]},
            "created_at": timestamp(self.view.submitted_at),
            "finished_at": timestamp(self.view.finished_at) if self.ended else None,
            "time": decimal(result.cpu_ms / 1000) if result else None,
            "wall_time": decimal(result.wall_ms / 1000) if result else None,
            "memory": result.memory_kb if result else None,
            "exit_code": self.exit_code,
            "exit_signal": result.signal if result else None,
            "callback_url": self.view.webhook_url,
        }
        return plain[name]

    def _texts(self, source: ExecutionSource | None) -> Mapping[str, Any]:
        return {
            "stdout": lambda: self._output.get(Stream.STDOUT, b""),
            "stderr": lambda: self.stderr,
            "compile_output": lambda: self.compile_output,
            "message": lambda: (self.message or "").encode(errors="replace"),
            "expected_output": lambda: self.expected_output,
            "stdin": lambda: source.stdin if source else None,
            "source_code": lambda: self._source_code(source),
        }

    def _files(self, field: str, source: ExecutionSource | None) -> dict[str, bytes]:
        """The files that came with the source, or all files after the run."""
        if source is None:
            return {}
        others = {name: each for name, each in source.files.items() if name != self.view.main}
        if field == "additional_files":
            return others
        result = self._result if self.was_run else None
        if result is None:
            return {}
        files = {**source.files, **result.returned_files}
        return {name: each for name, each in files.items() if name not in OWN_FILES}

    def _source_code(self, source: ExecutionSource | None) -> bytes | None:
        if source is None or self.view.main in (None, MULTI_FILE_MAIN):
            return None
        return source.files.get(self.view.main or "")


def callback_body(view: ExecutionView, output: Mapping[Stream, bytes]) -> bytes:
    """What GET /submissions/{token} answers in base64 if it is not asked for other fields."""
    fields = Judge0Submission(view, output).fields(DEFAULT_FIELDS, None, as_base64=True)
    return json.dumps(fields).encode()


def status_of_failure(result: ExecutionResult, *, checks_syntax: bool) -> int:
    """Judge0 has no status for too much memory: it is a runtime error."""
    if COMPILE_FAILED in result.returned_files:
        return COMPILE_ERROR
    if result.status is RunStatus.COMPILE_ERROR:
        return NONZERO_EXIT if checks_syntax else COMPILE_ERROR
    if result.status in OF_FAILURE:
        return OF_FAILURE[result.status]
    if result.signal is not None:
        return OF_SIGNAL.get(result.signal, OTHER_ERROR)
    return NONZERO_EXIT if result.exit_code else OTHER_ERROR
