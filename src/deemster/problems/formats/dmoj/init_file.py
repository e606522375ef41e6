"""`init.yml` as data: every key that DMOJ knows, and what can't be done with some of them.

What a case doesn't say, its batch says for it, and then the file itself.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from deemster.domain.errors import Refused
from deemster.problems.formats.yaml_file import (
    FileModel,
    checked,
    key_error,
    mapping_of,
    read_yaml,
)

FILE = "init.yml"
OUTPUT_BYTES = 25_165_824

Points = Annotated[float, Field(ge=0)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
Kilobytes = Annotated[int, Field(gt=0, le=1 << 34)]
Files = str | list[str]


class Shared(FileModel):
    """What a case, a batch or the whole file may say."""

    in_: Annotated[str | None, Field(alias="in")] = None
    out: str | None = None
    points: Points | None = None
    checker: str | dict[str, Any] | None = None
    generator: str | list[str] | dict[str, Any] | None = None
    generator_args: list[Any] | None = None
    generator_in: str | None = None
    binary_data: bool | None = None
    time_limit: Seconds | None = None
    memory_limit: Kilobytes | None = None
    output_limit_length: Annotated[int, Field(gt=0)] | None = None
    output_prefix_length: int | None = None
    wall_time_factor: float | None = None


class CaseEntry(Shared):
    batched: list[dict[str, Any]] | None = None
    dependencies: list[Annotated[int, Field(gt=0)]] = Field(default_factory=list)


class Formats(FileModel):
    """Test cases by the names of their files."""

    input_format: str | None = None
    output_format: str | None = None
    case_points: list[Points] | None = None


class FileIo(FileModel):
    input: str = ""
    output: str = ""


class Interactive(FileModel):
    files: Files
    lang: str | None = None
    type: str = "default"
    flags: list[str] = Field(default_factory=list)
    args_format_string: str | None = None
    compiler_time_limit: Seconds | None = None
    preprocessing_time: Seconds | None = None
    memory_limit: Kilobytes | None = None
    feedback: bool = True


class InitFile(Shared):
    archive: str | None = None
    test_cases: list[dict[str, Any]] | dict[str, Any] | None = None
    pretest_test_cases: list[dict[str, Any]] | None = None
    interactive: Interactive | None = None
    custom_judge: Any = None
    signature_grader: Any = None
    file_io: FileIo | None = None
    unbuffered: bool = False
    hints: list[str] = Field(default_factory=list)
    symlinks: dict[str, str] = Field(default_factory=dict)
    short_circuit: bool | None = None


REFUSED = {
    "custom_judge": "is a grader in Python that runs inside of DMOJ's judge",
    "signature_grader": "changes submissions before they are compiled",
    "symlinks": "puts links beside the program",
}


def read_init(root: Path) -> InitFile:
    values = mapping_of(read_yaml(root / FILE, FILE), FILE)
    refuse_code(values, "")
    init = checked(InitFile, values, FILE)
    for key, what in REFUSED.items():
        if getattr(init, key):
            raise key_error(FILE, key, f"{what}, which can't be done here.")
    return init


def refuse_code(value: object, above: str) -> None:
    """Keys that end in + hold Python, which DMOJ's judge runs to get their value."""
    if isinstance(value, list):
        for number, each in enumerate(value):
            refuse_code(each, f"{above}.{number}")
    if not isinstance(value, dict):
        return
    for key, each in value.items():
        road = f"{above}.{key}".lstrip(".")
        if str(key).endswith("+"):
            raise key_error(FILE, road, "is Python code that makes a value: write the value.")
        refuse_code(each, road)


def entry_of(values: Mapping[str, Any], road: str) -> CaseEntry:
    return checked(CaseEntry, mapping_of(dict(values), FILE, road), FILE, road)


def inherited(key: str, *levels: Shared) -> Any:
    """What the innermost level says that says anything."""
    return next((found for each in levels if (found := getattr(each, key)) is not None), None)


def refused(key: str, what: str) -> Refused:
    return key_error(FILE, key, what)
