"""The work that a DOMjudge server hands out, as its API writes it.

Servers of different versions send different fields, so unknown ones are ignored.
"""

import re
from enum import StrEnum
from typing import Annotated, Any, Final, TypeVar

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Json,
    TypeAdapter,
    ValidationError,
)

from deemster.domain.errors import Unavailable
from deemster.pattern_messages import fault_text

IDENTIFIER: Final = re.compile(r"[A-Za-z0-9_.-]+")
DEFAULT_OVERSHOOT: Final = "1s|10%"
DEFAULT_STORED_BYTES: Final = 50_000


def as_identifier(value: object) -> object:
    """Ids are numbers, or names from version 10 on; they become parts of paths and URLs."""
    text = str(value) if isinstance(value, int) else value
    valid = isinstance(text, str) and IDENTIFIER.fullmatch(text) and text.strip(".")
    if not valid:
        raise ValueError("is no identifier")
    return text


Identifier = Annotated[str, BeforeValidator(as_identifier)]


T = TypeVar("T")


class ServerUnavailable(Unavailable):
    """The DOMjudge server did not answer, or not as this version expects."""

    code = "domjudge_unavailable"


class TaskType(StrEnum):
    JUDGING_RUN = "judging_run"
    PREFETCH = "prefetch"
    DEBUG_INFO = "debug_info"
    TRY_AGAIN = "try_again"
    UNKNOWN = "unknown"
    """A kind of task that only a newer server has."""


class Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class ScriptConfig(Part):
    hash: str | None = None
    """MD5 of the executable's files; servers before 8.1 send none."""


class ScriptLimits(Part):
    script_timelimit: float = 30
    """Seconds."""
    script_memory_limit: int = 2_097_152
    """KiB."""
    script_filesize_limit: int = 540_672
    """KiB."""


class CompileConfig(ScriptConfig, ScriptLimits):
    language_extensions: tuple[str, ...] = ()
    filter_compiler_files: bool = True


class RunConfig(ScriptConfig):
    time_limit: float = 5
    """Seconds."""
    memory_limit: int = 2_097_152
    """KiB."""
    output_limit: int = 8_192
    """KiB."""
    process_limit: int = 64
    entry_point: str | None = None
    pass_limit: int | None = 1
    overshoot: float | None = 0
    """Seconds that a program may run beyond its limit, besides the server's setting."""


class CompareConfig(ScriptConfig, ScriptLimits):
    compare_args: str | None = None
    combined_run_compare: bool = False
    """The run executable talks to the program and also judges it."""


class Task(Part):
    type: TaskType
    id: Annotated[int, Field(validation_alias="judgetaskid")]
    job: Annotated[Identifier | None, Field(validation_alias="jobid")] = None
    submission: Annotated[Identifier | None, Field(validation_alias="submitid")] = None
    contest: Annotated[
        Identifier | None,
        Field(validation_alias=AliasChoices("contest_id", "contestid", "cid")),
    ] = None
    """Named by version 10 in development, in whose URLs of sources it stands."""
    database: Annotated[str | None, Field(validation_alias="uuid")] = None
    testcase: Annotated[Identifier | None, Field(validation_alias="testcase_id")] = None
    testcase_hash: str | None = None
    compile_script: Annotated[
        Identifier | None, Field(validation_alias="compile_script_id")
    ] = None
    run_script: Annotated[Identifier | None, Field(validation_alias="run_script_id")] = None
    compare_script: Annotated[
        Identifier | None, Field(validation_alias="compare_script_id")
    ] = None
    compile_config: Json[CompileConfig] | None = None
    run_config: Json[RunConfig] | None = None
    compare_config: Json[CompareConfig] | None = None


class JudgingTask(Task):
    """A test case on which one submission is run."""

    job: Annotated[Identifier, Field(validation_alias="jobid")]
    submission: Annotated[Identifier, Field(validation_alias="submitid")]
    testcase: Annotated[Identifier, Field(validation_alias="testcase_id")]
    compile_script: Annotated[Identifier, Field(validation_alias="compile_script_id")]
    run_script: Annotated[Identifier, Field(validation_alias="run_script_id")]
    compile_config: Json[CompileConfig]
    run_config: Json[RunConfig]
    compare_config: Json[CompareConfig]


class ServedFile(Part):
    filename: str
    content: str
    """Base64."""
    is_executable: bool | None = False


class Unfinished(Part):
    """A judging that the server takes back because this host did not finish it."""

    job: Annotated[Identifier, Field(validation_alias=AliasChoices("jobid", "judgingid"))]


class VersionCommands(Part):
    compiler_version_command: str | None = None
    runner_version_command: str | None = None


class ServerConfig(ScriptLimits):
    """The settings of the server that concern judgehosts."""

    timelimit_overshoot: str = DEFAULT_OVERSHOOT
    output_storage_limit: int = DEFAULT_STORED_BYTES
    """Most bytes of each output that the server stores; negative: all."""


class ServedLanguage(Part):
    id: str
    extensions: tuple[str, ...] = ()


class Judgehost(Part):
    hostname: str
    enabled: bool = True


def read_tasks(found: Any) -> list[Task]:
    """All tasks of one answer have the same type."""
    if not found:
        return []
    kind = found[0].get("type") if isinstance(found, list) and found[0] else None
    if kind not in set(TaskType):
        return [Task.model_validate({"type": TaskType.UNKNOWN, "judgetaskid": 0})]
    if kind == TaskType.TRY_AGAIN:
        return [Task.model_validate({"type": TaskType.TRY_AGAIN, "judgetaskid": 0})]
    model = JudgingTask if kind == TaskType.JUDGING_RUN else Task
    return [*parse(list[model], found)]  # type: ignore[valid-type]


def parse(kind: type[T], found: Any) -> T:
    try:
        return TypeAdapter(kind).validate_python(found)
    except ValidationError as fault:
        first = fault.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ServerUnavailable(
            "The DOMjudge server sent what this version can't read "
            f"({place}: {fault_text(first)})."
        ) from fault
