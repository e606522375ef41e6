"""The model of DMOJ's `init.yml`; refuses unsupported keys.

A case inherits missing keys from its batch, and then from the file.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from deemster.domain.errors import Refused
from deemster.problems.archive.names import clean_name
from deemster.problems.formats.yaml_file import (
    FileModel,
    checked,
    key_error,
    mapping_of,
    read_yaml,
)

FILE = "init.yml"
ARCHIVE = "_archive"
"""Directory into which `prepare` unpacks the archive of the test data."""
EMPTY = "_empty"
"""An empty file, for cases without an answer file."""
OUTPUT_BYTES = 25_165_824

Points = Annotated[float, Field(ge=0)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
Kilobytes = Annotated[int, Field(gt=0, le=1 << 34)]
Files = str | list[str]


class CaseDefaults(FileModel):
    """Keys that a case, a batch and the whole file may have."""

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


class CaseEntry(CaseDefaults):
    batched: list[dict[str, Any]] | None = None
    dependencies: list[Annotated[int, Field(gt=0)]] = Field(default_factory=list)


class NamePatterns(FileModel):
    """Patterns that find test cases by file names."""

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


class InitFile(CaseDefaults):
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
IGNORED = frozenset(
    {
        "cached",
        "compiler_time_limit",
        "output_prefix_length",
        "preprocessing_time",
        "wall_time_factor",
    }
)
"""Keys without effect here; they may stand at any level."""


def read_init(root: Path) -> InitFile:
    values = mapping_of(read_yaml(root / FILE, FILE), FILE)
    refuse_code(values, "")
    init = checked(InitFile, values, FILE)
    given = [key for key in REFUSED if getattr(init, key)]
    if given:
        others = f" The same holds for {', '.join(given[1:])}." if len(given) > 1 else ""
        first = given[0]
        raise key_error(FILE, first, f"{REFUSED[first]}, which can't be done here.{others}")
    return init


def ignored_keys(root: Path) -> list[str]:
    """The keys of the file that have no effect, each once, however often it is given."""
    return sorted(keys_of(read_yaml(root / FILE, FILE)) & IGNORED)


def keys_of(value: object) -> set[str]:
    """The keys of all maps in a value."""
    if isinstance(value, list):
        return {key for each in value for key in keys_of(each)}
    if not isinstance(value, dict):
        return set()
    inner = {key for each in value.values() for key in keys_of(each)}
    return {str(key) for key in value} | inner


def refuse_code(value: object, above: str) -> None:
    """Refuses keys that end with +: DMOJ's judge runs their Python code."""
    if isinstance(value, list):
        for number, each in enumerate(value):
            refuse_code(each, f"{above}.{number}")
    if not isinstance(value, dict):
        return
    for key, each in value.items():
        key_path = f"{above}.{key}".lstrip(".")
        if str(key).endswith("+"):
            raise key_error(
                FILE, key_path, "is Python code that computes a value: write the value."
            )
        refuse_code(each, key_path)


def parse_entry(values: Mapping[str, Any], key_path: str) -> CaseEntry:
    return checked(CaseEntry, mapping_of(dict(values), FILE, key_path), FILE, key_path)


def inherited(key: str, *levels: CaseDefaults) -> Any:
    """The value of the innermost level that has the key."""
    return next((found for each in levels if (found := getattr(each, key)) is not None), None)


def refused(key: str, what: str) -> Refused:
    return key_error(FILE, key, what)


def find_file(root: Path, name: str, key_path: str) -> str:
    """The path of a file in the package or in its archive."""
    try:
        path = clean_name(name)
    except Refused as fault:
        raise refused(key_path, f"can't be used. {fault}") from None
    for candidate in (path, f"{ARCHIVE}/{path}"):
        if path and (root / candidate).is_file():
            return candidate
    raise refused(
        key_path, f"names {name[:100]!r}, which is not there: add it, or correct the name."
    )


def archived_names(root: Path) -> list[str]:
    place = root / ARCHIVE
    found = (path for path in place.rglob("*") if path.is_file())
    return sorted(str(path.relative_to(place)) for path in found)
