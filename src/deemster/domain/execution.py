"""An execution: a program that is run once, without a problem, and its result (E4)."""

import dataclasses
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Any, Final

from deemster.domain.ids import AccountId, CodeSessionId, ExecutionId
from deemster.domain.job import PRIORITY_CLASS_WIDTH, PriorityClass
from deemster.domain.lifecycle import State
from deemster.domain.limits import COMPILE_S, MIB, OVERHEAD_S, Limits
from deemster.domain.run_status import RunStatus, signal_text
from deemster.domain.webhook import WebhookFormat
from deemster.domain.work import WorkDetails

SOURCE_BYTES: Final = 16 * MIB
"""The most of all source files together; a compatible API may send ten megabytes of them."""
TYPED_BYTES: Final = 8 * MIB
"""The most that is typed into one program."""
SIZE: Final = struct.Struct("!HH")
"""Rows and columns of a terminal, as typed input has them."""
TIMEOUT_EXIT_CODE: Final = 124
"""As `timeout` of the coreutils exits."""


class ProgramIo(StrEnum):
    """How the program gets its input, and its output is read."""

    BATCH = "batch"
    """All input is given before."""
    STREAMS = "streams"
    """Input can be typed while the program runs; stdout and stderr are pipes."""
    TERMINAL = "terminal"
    LANGUAGE_SERVER = "language_server"
    """The program is the language server of the language, not a source of the user."""


class Stream(IntEnum):
    STDOUT = 1
    STDERR = 2


@dataclass(frozen=True, slots=True)
class ExecutionLimits:
    """The defaults are those of X5."""

    wall_ms: int = 30_000
    cpu_ms: int = 30_000
    memory_bytes: int = 128 * MIB
    processes: int = 50
    output_bytes: int = MIB
    """Of stdout, and of stderr."""
    file_bytes: int = 64 * MIB
    stack_bytes: int = 0
    cores: float = 0.5

    def of_run(self) -> Limits:
        return Limits(
            cpu_ms=self.cpu_ms,
            wall_ms=self.wall_ms,
            memory_bytes=self.memory_bytes,
            processes=self.processes,
            output_bytes=self.output_bytes,
            file_bytes=self.file_bytes,
            stack_bytes=self.stack_bytes,
            cores=self.cores,
        )


def lower_of(one: ExecutionLimits, other: ExecutionLimits) -> ExecutionLimits:
    names = [each.name for each in dataclasses.fields(ExecutionLimits)]
    lower = {name: min(getattr(one, name), getattr(other, name)) for name in names}
    return ExecutionLimits(**lower)


@dataclass(frozen=True, slots=True)
class ExecutionOptions:
    """What only some clients ask for."""

    compile_args: Sequence[str] = ()
    """After the language's own arguments of the compiler."""
    interpreter_args: Sequence[str] = ()
    """Before the program in the command that runs it."""
    compile_wall_ms: int | None = None
    compile_memory_bytes: int | None = None
    runs: int = 1
    """How often the program is run; time and memory are averages, the output is the last."""
    stderr_to_stdout: bool = False
    return_files: Sequence[str] = ()
    """Files that the program wrote, to be returned."""
    return_changed_files: bool = False
    """Whether to return all other files, too, that the program created or changed."""
    rows: int = 24
    columns: int = 80
    all_tools: bool = False
    """Whether the program sees all programs of the system, not only those of its language."""


@dataclass(frozen=True, slots=True)
class NewExecution:
    id: ExecutionId
    account: AccountId
    language: str
    main: str | None
    files: bytes
    """The packed source files."""
    request_digest: bytes
    """Equal for two requests with the same key and the same content (I2)."""
    stdin: bytes = b""
    args: Sequence[str] = ()
    io: ProgramIo = ProgramIo.BATCH
    limits: ExecutionLimits = field(default_factory=ExecutionLimits)
    options: ExecutionOptions = field(default_factory=ExecutionOptions)
    client: Mapping[str, Any] | None = None
    """What a compatible API keeps with the execution, to answer as its clients expect."""
    idempotency_key: str | None = None
    webhook_url: str | None = None
    webhook_format: WebhookFormat = WebhookFormat.STANDARD
    session: CodeSessionId | None = None

    @property
    def first_priority(self) -> int:
        return PriorityClass.INTERACTIVE * PRIORITY_CLASS_WIDTH + 1


@dataclass(frozen=True, slots=True)
class AcceptedExecution:
    id: ExecutionId
    submitted_at: datetime


@dataclass(frozen=True, slots=True)
class ExecutionDetails(WorkDetails):
    """The data with which a worker begins to execute."""

    id: ExecutionId
    main: str | None
    files: bytes
    stdin: bytes
    args: Sequence[str]
    io: ProgramIo
    limits: ExecutionLimits
    options: ExecutionOptions

    def deadline_s(self) -> float:
        """How long all runs may take, with the compile (Q4)."""
        runs = max(self.options.runs, 1)
        return COMPILE_S + runs * self.limits.wall_ms / 1000 + OVERHEAD_S


@dataclass(frozen=True, slots=True)
class CompileResult:
    status: RunStatus
    output: str
    ms: int


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    status: RunStatus
    exit_code: int | None = None
    signal: int | None = None
    cpu_ms: float = 0
    wall_ms: float = 0
    memory_kb: int = 0
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    compile: CompileResult | None = None
    """None: the language has no compiler."""
    returned_files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OutputChunk:
    attempt: int
    number: int
    """From 1 in each attempt."""
    stream: Stream
    at_ms: int
    """Since the program was started."""
    content: bytes


@dataclass(frozen=True, slots=True)
class TypedInput:
    id: int
    kind: str
    """`data`, `end`, `resize` (rows and columns) or `signal` (a name)."""
    content: bytes


@dataclass(frozen=True, slots=True)
class ExecutionView:
    id: ExecutionId
    account: AccountId
    account_name: str
    language: str
    main: str | None
    state: State
    attempt: int
    io: ProgramIo
    limits: ExecutionLimits
    options: ExecutionOptions
    args: Sequence[str]
    client: Mapping[str, Any] | None
    session: CodeSessionId | None
    webhook_url: str | None
    submitted_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    failure: str | None
    result: ExecutionResult | None
    compile: CompileResult | None = None
    """Of a program whose input is typed, it is known before the result."""


class ExecutionStatus(StrEnum):
    """The states' names in the API (S4)."""

    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    TIMEOUT = "TIMEOUT"
    CANCELLED = "CANCELLED"


TIMEOUTS: Final = frozenset({RunStatus.TIME_LIMIT, RunStatus.WALL_LIMIT})
ERROR_TYPES: Final[Mapping[RunStatus, str]] = {
    RunStatus.TIME_LIMIT: "TimeoutError",
    RunStatus.WALL_LIMIT: "TimeoutError",
    RunStatus.MEMORY_LIMIT: "MemoryLimitError",
    RunStatus.OUTPUT_LIMIT: "OutputLimitError",
    RunStatus.PROCESS_LIMIT: "ProcessLimitError",
    RunStatus.FORBIDDEN_SYSCALL: "SecurityError",
    RunStatus.COMPILE_ERROR: "CompileError",
    RunStatus.SIGNALLED: "RuntimeError",
    RunStatus.NONZERO_EXIT: "RuntimeError",
    RunStatus.INTERNAL_ERROR: "InternalError",
    RunStatus.CANCELLED: "InternalError",
}
INTERNAL_ERROR: Final = "InternalError"


def status_of(state: State, result: ExecutionResult | None) -> ExecutionStatus:
    if state is State.PENDING:
        return ExecutionStatus.QUEUED
    if state is not State.COMPLETED or result is None:
        return ExecutionStatus(state.value)
    if result.status in TIMEOUTS:
        return ExecutionStatus.TIMEOUT
    return (
        ExecutionStatus.COMPLETED if result.status is RunStatus.OK else ExecutionStatus.FAILED
    )


def exit_code_of(result: ExecutionResult | None) -> int | None:
    """The exit code that users see; a signal gives 128 and its number, as in a shell."""
    if result is None:
        return None
    if result.status in TIMEOUTS:
        return TIMEOUT_EXIT_CODE
    return 128 + result.signal if result.signal is not None else result.exit_code


def error_of(view: ExecutionView) -> tuple[str, str] | None:
    """The type and the message of an error; None: the program ended well, or not yet."""
    if view.state is State.FAILED:
        return INTERNAL_ERROR, view.failure or "Deemster could not run the program."
    if view.result is None or view.result.status is RunStatus.OK:
        return None
    return ERROR_TYPES[view.result.status], message_of(view.result, view.limits, view.io)


def message_of(
    result: ExecutionResult, limits: ExecutionLimits, io: ProgramIo = ProgramIo.BATCH
) -> str:
    messages = {
        RunStatus.TIME_LIMIT: f"The program used more than {limits.cpu_ms / 1000:g} s of CPU.",
        RunStatus.WALL_LIMIT: wall_message(result, limits, io),
        RunStatus.MEMORY_LIMIT: f"The program used more than {limits.memory_bytes // MIB} MB.",
        RunStatus.OUTPUT_LIMIT: (
            f"The program wrote more than {limits.output_bytes} bytes to stdout or stderr."
        ),
        RunStatus.PROCESS_LIMIT: f"The program started more than {limits.processes} processes.",
        RunStatus.FORBIDDEN_SYSCALL: "The program made a system call that is not allowed.",
        RunStatus.COMPILE_ERROR: "The program could not be compiled.",
        RunStatus.NONZERO_EXIT: f"The program ended with exit code {result.exit_code}.",
        RunStatus.SIGNALLED: (
            f"The program was ended by a signal: {signal_text(result.signal or 0)}."
        ),
    }
    return messages.get(result.status, "Deemster could not run the program.")


def wall_message(result: ExecutionResult, limits: ExecutionLimits, io: ProgramIo) -> str:
    if io is not ProgramIo.BATCH and result.wall_ms < limits.wall_ms:
        return "The program was ended because nothing was typed or printed for too long."
    return f"The program ran for more than {limits.wall_ms / 1000:g} s."
