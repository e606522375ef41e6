"""Request and response models of executions; unknown values are left out (E4)."""

import base64
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from deemster.api.http.paging import Page, PageQuery
from deemster.api.models.field_types import RequestModel, ResponseModel, ShortText, TerminalSide
from deemster.api.models.programs import Base64, ProgramIn
from deemster.api.models.submissions import check_web_address
from deemster.domain.execution import (
    TIMEOUTS,
    AcceptedExecution,
    ExecutionLimits,
    ExecutionOptions,
    ExecutionStatus,
    ExecutionView,
    ProgramIo,
    Stream,
    error_of,
    exit_code_of,
    message_of,
    status_of,
)
from deemster.domain.limits import MIB
from deemster.pipeline.accept.executions import ExecuteRequest

EXECUTIONS_PATH: Final = "/v1/executions"
MAX_IN_BATCH: Final = 100
BATCH_BYTES: Final = 32 << 20

Argument = Annotated[str, StringConstraints(max_length=8192)]
Arguments = Annotated[list[Argument], Field(max_length=256)]


class LimitsIn(RequestModel):
    """Below the operator's ceiling; the defaults are those of the operator."""

    wall_time_ms: Annotated[int, Field(ge=1)] | None = None
    cpu_time_ms: Annotated[int, Field(ge=1)] | None = None
    """The default is the wall time."""
    memory_mb: Annotated[int, Field(ge=1)] | None = None
    processes: Annotated[int, Field(ge=1)] | None = None
    output_kb: Annotated[int, Field(ge=1)] | None = None
    """Of stdout, and of stderr."""

    def to_limits(self, default: ExecutionLimits) -> ExecutionLimits:
        wall_ms = self.wall_time_ms or default.wall_ms
        return replace(
            default,
            wall_ms=wall_ms,
            cpu_ms=self.cpu_time_ms or min(wall_ms, default.cpu_ms),
            memory_bytes=(self.memory_mb or default.memory_bytes // MIB) * MIB,
            processes=self.processes or default.processes,
            output_bytes=(self.output_kb or default.output_bytes // 1024) * 1024,
        )


class RunIn(RequestModel):
    """How a program is run."""

    stdin: str = ""
    stdin_base64: Base64 | None = None
    """Replaces `stdin` if the input is not text."""
    args: Arguments = Field(default_factory=list)
    """Arguments of the program."""
    compile_args: Arguments = Field(default_factory=list)
    """Arguments of the compiler, after those of the language."""
    limits: LimitsIn = LimitsIn()
    io: Literal["batch", "streams", "terminal"] = "batch"
    """`streams`: input can be typed while the program runs. `terminal`: the program has a
    terminal, too."""
    rows: TerminalSide = 24
    """Size of the terminal when the program starts."""
    columns: TerminalSide = 80

    @model_validator(mode="after")
    def _has_one_input(self) -> Self:
        if self.stdin and self.stdin_base64 is not None:
            raise ValueError("send either stdin or stdin_base64")
        return self

    def to_run(
        self,
        language: str,
        files: Mapping[str, bytes],
        default: ExecutionLimits,
        key: str | None,
    ) -> ExecuteRequest:
        """A request to run these files."""
        return ExecuteRequest(
            language=language,
            files=files,
            stdin=self.stdin.encode() if self.stdin_base64 is None else self.stdin_base64,
            args=self.args,
            io=ProgramIo(self.io),
            limits=self.limits.to_limits(default),
            options=ExecutionOptions(
                compile_args=self.compile_args, rows=self.rows, columns=self.columns
            ),
            idempotency_key=key,
        )


class ExecutionIn(RunIn, ProgramIn):
    """All files are in the program's directory, too."""

    webhook_url: (
        Annotated[str, StringConstraints(max_length=2048), AfterValidator(check_web_address)]
        | None
    ) = None
    """URL that gets a webhook when the execution has ended."""

    def to_execute_request(self, default: ExecutionLimits, key: str | None) -> ExecuteRequest:
        run = self.to_run(self.language, self.source_files, default, key)
        return replace(run, main=self.main, webhook_url=self.webhook_url)


class BatchIn(RequestModel):
    executions: Annotated[list[ExecutionIn], Field(min_length=1, max_length=MAX_IN_BATCH)]


class AcceptedExecutionOut(ResponseModel):
    execution_id: str
    status: ExecutionStatus
    submitted_at: datetime


class BatchItemOut(ResponseModel):
    """Either the execution, or why it was refused."""

    execution_id: str | None = None
    status: ExecutionStatus | None = None
    submitted_at: datetime | None = None
    error: str | None = None
    code: str | None = None


class BatchOut(ResponseModel):
    executions: list[BatchItemOut]


class ExecutionOut(ResponseModel):
    execution_id: str
    status: ExecutionStatus
    language: str
    io: ProgramIo
    session_id: str | None = None
    user_id: str
    submitted_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    stdout: str | None = None
    """Bytes that are not UTF-8 are replaced; `output=base64` returns them all."""
    stderr: str | None = None
    stdout_base64: str | None = None
    stderr_base64: str | None = None
    stdout_truncated: bool | None = None
    """True: the program wrote more than its limit, and the rest is missing."""
    stderr_truncated: bool | None = None
    exit_code: int | None = None
    """124 after a timeout; 128 and the number of the signal if a signal ended the program."""
    signal: int | None = None
    execution_time_ms: int | None = None
    """Wall-clock time."""
    cpu_time_ms: int | None = None
    memory_kb: int | None = None
    compile_output: str | None = None
    compile_time_ms: int | None = None
    error_type: str | None = None
    error_message: str | None = None


class ExecutionPage(Page[ExecutionOut]):
    """Executions without their output, newest first."""


class ExecutionQuery(PageQuery):
    user: ShortText | None = None
    """Admins only: an account's id or name."""
    session_id: ShortText | None = None


def accepted_out(accepted: AcceptedExecution) -> AcceptedExecutionOut:
    return AcceptedExecutionOut(
        execution_id=accepted.id,
        status=ExecutionStatus.QUEUED,
        submitted_at=accepted.submitted_at,
    )


def execution_out(
    view: ExecutionView, output: Mapping[Stream, bytes] | None, *, as_base64: bool = False
) -> ExecutionOut:
    """Without `output`, as in lists, neither stdout nor stderr is shown."""
    result, error = view.result, error_of(view)
    shown = ExecutionOut(
        execution_id=view.id,
        status=status_of(view.state, result),
        language=view.language,
        io=view.io,
        session_id=view.session,
        user_id=view.account,
        submitted_at=view.submitted_at,
        started_at=view.started_at,
        finished_at=view.finished_at,
        error_type=error[0] if error else None,
        error_message=error[1] if error else None,
    )
    if result is not None:
        shown.exit_code = exit_code_of(result)
        shown.signal = result.signal
        shown.execution_time_ms = round(result.wall_ms)
        shown.cpu_time_ms = round(result.cpu_ms)
        shown.memory_kb = result.memory_kb
        shown.stdout_truncated = result.stdout_truncated
        shown.stderr_truncated = result.stderr_truncated
        if result.compile is not None:
            shown.compile_output = result.compile.output
            shown.compile_time_ms = result.compile.ms
    if output is not None:
        stdout, stderr = output.get(Stream.STDOUT, b""), stderr_of(view, output)
        if as_base64:
            shown.stdout_base64 = base64.b64encode(stdout).decode()
            shown.stderr_base64 = base64.b64encode(stderr).decode()
        else:
            shown.stdout = stdout.decode(errors="replace")
            shown.stderr = stderr.decode(errors="replace")
    return shown


def stderr_of(view: ExecutionView, output: Mapping[Stream, bytes]) -> bytes:
    """After a timeout with a note, as users of other services expect it (E4)."""
    stderr = output.get(Stream.STDERR, b"")
    if view.result is None or view.result.status not in TIMEOUTS:
        return stderr
    separator = b"\n" if stderr and not stderr.endswith(b"\n") else b""
    note = message_of(view.result, view.limits, view.io)
    return stderr + separator + note.encode() + b"\n"
