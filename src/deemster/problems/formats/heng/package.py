"""The package that the API makes of a heng task: `heng.json`, the files, the jury's program."""

from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from deemster.domain.errors import Refused
from deemster.domain.problem import (
    Case,
    Comparison,
    DefaultGrader,
    Group,
    JuryProgram,
    Problem,
    ProblemLimits,
    ProgramCheck,
    ProtocolName,
)
from deemster.domain.source import SOURCE_BYTES
from deemster.pattern_messages import fault_text, text_form

FILE: Final = "heng.json"
FILES: Final = "files"
"""The directory with inputs, answers and the jury's program."""
TITLE: Final = "Task of a heng client"

FileName = Annotated[
    str,
    text_form(
        r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$",
        "use up to 100 letters, digits and . _ -, and begin with a letter, a digit or _",
    ),
]


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class HengCase(Part):
    input: FileName
    output: FileName


class RunLimits(Part):
    """Of the program of the user or of the jury."""

    cpu_ms: int
    memory_bytes: int
    output_bytes: int


class JuryProgramFile(Part):
    file: FileName
    language: str
    limits: RunLimits


class HengPackage(Part):
    """The content of `heng.json`."""

    type: Literal["normal", "special", "interactive"]
    policy: Literal["fuse", "all"]
    cases: tuple[HengCase, ...]
    limits: RunLimits
    jury: JuryProgramFile | None = None


def read_package(root: Path) -> Problem:
    try:
        found = HengPackage.model_validate_json((root / FILE).read_bytes())
    except ValidationError as fault:
        first = fault.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise Refused(f"{FILE} is not valid ({place}): {fault_text(first)}.") from fault
    check = jury_check(found.jury) if found.jury else None
    interactive = found.type == "interactive"
    return Problem(
        slug=root.name,
        format="heng",
        names={"en": TITLE},
        tests=tests_of(found),
        limits=limits_of(found),
        checker=check if check and not interactive else Comparison(),
        interactor=check if interactive else None,
    )


def jury_check(jury: JuryProgramFile) -> ProgramCheck:
    program = JuryProgram("checker", f"{FILES}/{jury.file}", jury.language)
    return ProgramCheck((program,), ProtocolName.HENG)


def tests_of(found: HengPackage) -> Group:
    cases = tuple(
        Case(str(number), f"{FILES}/{case.input}", f"{FILES}/{case.output}")
        for number, case in enumerate(found.cases, start=1)
    )
    return Group("", cases, DefaultGrader(), stop_at_reject=found.policy == "fuse")


def limits_of(found: HengPackage) -> ProblemLimits:
    jury = found.jury.limits if found.jury else found.limits
    return ProblemLimits(
        time_ms=found.limits.cpu_ms,
        memory_bytes=found.limits.memory_bytes,
        output_bytes=found.limits.output_bytes,
        code_bytes=SOURCE_BYTES,
        validation_ms=jury.cpu_ms,
        validation_memory_bytes=jury.memory_bytes,
        validation_output_bytes=jury.output_bytes,
    )
