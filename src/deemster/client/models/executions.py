"""Programs that the client sends to be executed, and the executions it returns (E4)."""

import base64
from collections.abc import Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

from deemster.client.models.parsing import Model
from deemster.client.models.source import Source, content_field, source_fields

ENDED: Final = frozenset({"COMPLETED", "FAILED", "TIMEOUT", "CANCELLED"})
InputMode: TypeAlias = Literal["batch", "streams", "terminal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramLimits:
    """Limits below the operator's ceiling; None: the operator's default."""

    wall_time_ms: int | None = None
    cpu_time_ms: int | None = None
    memory_mb: int | None = None
    processes: int | None = None
    output_kb: int | None = None
    """Of stdout, and of stderr."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a program is run."""

    stdin: str | bytes = ""
    args: Sequence[str] = ()
    """Arguments of the program."""
    compile_args: Sequence[str] = ()
    """Arguments of the compiler, after those of the language."""
    limits: ProgramLimits = field(default_factory=ProgramLimits)
    io: InputMode = "batch"
    """`streams`: input can be typed while the program runs. `terminal`: the program has a
    terminal, too."""

    def to_json(self) -> dict[str, Any]:
        limits = asdict(self.limits)
        return {
            **content_field("stdin", self.stdin),
            "args": list(self.args),
            "compile_args": list(self.compile_args),
            "limits": {name: value for name, value in limits.items() if value is not None},
            "io": self.io,
        }


@dataclass(frozen=True, slots=True)
class Program(RunOptions):
    language: str
    source: Source
    _: KW_ONLY
    main: str | None = None
    """Name of the file that is started, if the program has several files."""
    webhook_url: str | None = None
    """URL that gets a webhook when the execution has ended."""

    def to_json(self) -> dict[str, Any]:
        webhook = {} if self.webhook_url is None else {"webhook_url": self.webhook_url}
        return {
            "language": self.language,
            **source_fields(self.source, self.main),
            **RunOptions.to_json(self),
            **webhook,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedExecution(Model):
    execution_id: str
    status: str
    submitted_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedExecution(Model):
    """A program of a batch that was not accepted."""

    error: str
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionSummary(Model):
    """An execution without its output. Fields that do not apply are None."""

    execution_id: str
    status: str
    """`QUEUED`, `RUNNING`, `COMPLETED`, `FAILED`, `TIMEOUT` or `CANCELLED`."""
    language: str
    io: str
    session_id: str | None = None
    user_id: str
    submitted_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
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

    @property
    def has_ended(self) -> bool:
        return self.status in ENDED


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution(ExecutionSummary):
    """An execution with what the program has written so far."""

    stdout_base64: str = field(repr=False)
    stderr_base64: str = field(repr=False)

    @property
    def stdout(self) -> str:
        """Bytes that are not UTF-8 are replaced."""
        return self.stdout_bytes.decode(errors="replace")

    @property
    def stderr(self) -> str:
        return self.stderr_bytes.decode(errors="replace")

    @property
    def stdout_bytes(self) -> bytes:
        return base64.b64decode(self.stdout_base64)

    @property
    def stderr_bytes(self) -> bytes:
        return base64.b64decode(self.stderr_base64)
