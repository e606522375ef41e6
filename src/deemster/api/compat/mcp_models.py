"""Arguments and results of the MCP tools; agents read the descriptions."""

from typing import Annotated, Final

from pydantic import Field

from deemster.api.executions import ShownExecution
from deemster.api.models.executions import Arguments, LimitsIn, execution_out
from deemster.api.models.field_types import RequestModel, ResponseModel, ShortText
from deemster.api.models.programs import ProgramIn
from deemster.api.models.submissions import present
from deemster.domain.execution import ExecutionLimits, ExecutionStatus
from deemster.domain.ids import ProblemId
from deemster.pipeline.accept.executions import ExecuteRequest
from deemster.pipeline.accept.submissions import SubmitRequest

MAX_CHARS: Final = 1_000_000
LONGEST_WAIT_S: Final = 30.0


class RunCode(ProgramIn):
    stdin: str = ""
    """Text that the program reads from standard input."""
    args: Arguments = Field(default_factory=list)
    """Command line arguments of the program."""
    limits: LimitsIn = LimitsIn()
    """Leave it out for the usual limits."""
    output_chars: Annotated[int, Field(ge=100, le=MAX_CHARS)] = 20_000
    """Most characters of stdout, and of stderr, in the result. The middle of longer output is
    left out."""

    def to_execute_request(self, default: ExecutionLimits) -> ExecuteRequest:
        return ExecuteRequest(
            language=self.language,
            files=self.source_files,
            main=self.main,
            stdin=self.stdin.encode(),
            args=self.args,
            limits=self.limits.to_limits(default),
            client={"api": "mcp"},
        )


class RunResult(ResponseModel):
    """What came of a program. A field is missing if its value is unknown."""

    execution_id: str
    status: ExecutionStatus
    """COMPLETED: exit code 0. FAILED: another end, see `error_type`. TIMEOUT: a time limit."""
    stdout: str
    stderr: str
    exit_code: int | None = None
    """124 after a timeout; 128 and the number of the signal if a signal ended the program."""
    error_type: str | None = None
    """TimeoutError, MemoryLimitError, OutputLimitError, ProcessLimitError, SecurityError (a
    forbidden system call), CompileError, RuntimeError, or InternalError (not your fault)."""
    error_message: str | None = None
    compile_output: str | None = None
    """Messages of the compiler."""
    time_ms: int | None = None
    """Wall-clock time of the program, without compiling."""
    cpu_time_ms: int | None = None
    memory_kb: int | None = None
    """Peak memory."""
    truncated: bool
    """true if a part of stdout, stderr or compile_output is missing."""


class ListLanguages(RequestModel):
    pass


class LanguageItem(ResponseModel):
    id: str
    """Use it as `language`."""
    name: str
    versions: list[str]
    """Versions of the compiler or interpreter; workers may have different ones."""


class LanguagesResult(ResponseModel):
    languages: list[LanguageItem]


class ReadProblem(RequestModel):
    problem_id: ShortText = Field(examples=["prob_aplusb"])
    """Id of the problem, as list_problems shows it."""


class Submit(ProgramIn):
    problem_id: ShortText = Field(examples=["prob_aplusb"])
    """Id of the problem, as list_problems shows it."""
    idempotency_key: ShortText | None = None
    """Any text of your choice. A repeated call with the same key submits nothing new and
    returns the first submission."""

    def to_submit_request(self) -> SubmitRequest:
        return SubmitRequest(
            problem=ProblemId(self.problem_id),
            language=self.language,
            files=self.source_files,
            main=self.main,
            idempotency_key=self.idempotency_key,
        )


class ReadVerdict(RequestModel):
    submission_id: ShortText = Field(examples=["sub_01h455vb4pex5vsknk084sn02q"])
    """The `id` that submit returned."""
    wait_s: Annotated[float, Field(ge=0, le=LONGEST_WAIT_S)] = LONGEST_WAIT_S
    """Seconds to wait for the verdict; 0 shows the present state."""


def run_result(shown: ShownExecution, max_chars: int) -> RunResult:
    out = execution_out(shown.view, shown.output)
    texts = (out.stdout or "", out.stderr or "", out.compile_output or "")
    stdout, stderr, compile_output = (without_middle(text, max_chars) for text in texts)
    is_cut = (stdout, stderr, compile_output) != texts
    known = {
        "execution_id": out.execution_id,
        "status": out.status,
        "stdout": stdout,
        "stderr": stderr,
        "exit_code": out.exit_code,
        "error_type": out.error_type,
        "error_message": out.error_message,
        "compile_output": compile_output or None,
        "time_ms": out.execution_time_ms,
        "cpu_time_ms": out.cpu_time_ms,
        "memory_kb": out.memory_kb,
        "truncated": bool(is_cut or out.stdout_truncated or out.stderr_truncated),
    }
    return RunResult.model_validate(present(known))


def without_middle(text: str, max_chars: int) -> str:
    """Keeps the start and the end, which often has the error message."""
    left_out = len(text) - max_chars
    if left_out <= 0:
        return text
    half = max_chars // 2
    return f"{text[:half]}\n… {left_out} characters left out …\n{text[half + left_out :]}"
