"""Models of Hydro's `testdata/config.yaml` and `problem.yaml`; refuses unsupported keys."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from deemster.domain.errors import Refused
from deemster.domain.limits import MIB
from deemster.problems.archive.names import clean_name
from deemster.problems.formats.yaml_file import (
    FileModel,
    checked,
    key_error,
    mapping_of,
    read_yaml,
)

TESTDATA = "testdata"
PLACES = ("", "input/", "output/")
CONFIG_FILES = ("config.yaml", "config.yml")
PROBLEM_FILE = "problem.yaml"
TIME = re.compile(r"(\d+(?:\.\d*)?)([mu]?)s?", re.IGNORECASE)
MEMORY = re.compile(r"(\d+(?:\.\d*)?)([kmg])b?", re.IGNORECASE)


def as_ms(value: object) -> object:
    """Reads `1s` or `500ms`; a plain number is in milliseconds."""
    if isinstance(value, str) and (found := TIME.fullmatch(value.strip())):
        value = float(found[1]) * {"": 1000.0, "m": 1.0, "u": 0.001}[found[2].lower()]
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return max(1, round(value))
    raise ValueError("must be a time such as 1s or 500ms.")


def as_bytes(value: object) -> object:
    """Reads `256m` or `1g`; a plain number is in megabytes."""
    units = {"k": 1024, "m": MIB, "g": 1024 * MIB}
    if isinstance(value, str) and (found := MEMORY.fullmatch(value.strip())):
        return max(1, round(float(found[1]) * units[found[2].lower()]))
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return round(value * MIB)
    raise ValueError("must be a size such as 256m or 1g.")


Ms = Annotated[int, BeforeValidator(as_ms)]
Bytes = Annotated[int, BeforeValidator(as_bytes)]
Score = Annotated[float, Field(ge=0, le=1_000_000)]
Text = Annotated[str, BeforeValidator(lambda value: str(value) if value is not None else value)]


class SourceFile(FileModel):
    file: str
    lang: str = "auto"


class CaseConfig(FileModel):
    input: str = ""
    output: str = ""
    time: Ms | None = None
    memory: Bytes | None = None
    score: Score | None = None
    id: int | None = None


class SubtaskConfig(FileModel):
    id: int | None = None
    type: Literal["min", "max", "sum"] | None = None
    score: Score | None = None
    time: Ms | None = None
    memory: Bytes | None = None
    requires: Annotated[list[int], Field(alias="if")] = Field(default_factory=list)
    cases: list[CaseConfig] = Field(default_factory=list)


class HydroConfig(FileModel):
    type: str = "default"
    subType: Any = None  # noqa: N815 - Hydro's spelling
    time: Ms = 1_000
    memory: Bytes = 256 * MIB
    filename: str = ""
    checker_type: str = "default"
    checker: str | SourceFile | None = None
    interactor: str | SourceFile | None = None
    validator: str | SourceFile | None = None
    manager: Any = None
    num_processes: Any = None
    multi_pass: Any = None
    user_extra_files: list[str] = Field(default_factory=list)
    judge_extra_files: list[str] = Field(default_factory=list)
    cases: list[CaseConfig] = Field(default_factory=list)
    subtasks: list[SubtaskConfig] = Field(default_factory=list)
    langs: list[str] | None = None
    time_limit_rate: dict[str, float] = Field(default_factory=dict)
    memory_limit_rate: dict[str, float] = Field(default_factory=dict)
    score: Any = None
    detail: Any = None
    key: Any = None
    target: Any = None
    redirect: Any = None
    template: Any = None
    answers: Any = None
    hackable: Any = None
    std: Any = None


class ProblemYaml(FileModel):
    title: Text = ""
    name: Text = ""
    pid: Text = ""
    tag: list[Text] = Field(default_factory=list)
    owner: Any = None
    source: Text = ""
    content: Any = None
    difficulty: Any = None
    hidden: Any = None
    html: Any = None
    nSubmit: Any = None  # noqa: N815 - Hydro's spelling
    nAccept: Any = None  # noqa: N815
    reference: Any = None
    maintainer: Any = None
    assign: Any = None
    sort: Any = None
    stats: Any = None
    config: Any = None


REFUSED_TYPES = {
    "objective": "has questions with answers to choose from, and no program to be judged",
    "remote_judge": "is judged by another site",
    "communication": "runs several programs that talk through a manager",
}
REFUSED_KEYS = {
    "redirect": "means the test data of another problem",
    "template": "writes code around submissions",
    "answers": "holds answers to choose from",
    "multi_pass": "asks for several passes in Hydro's own way",
}


def read_config(root: Path) -> HydroConfig:
    place = root / TESTDATA
    names = [name for name in CONFIG_FILES if (place / name).is_file()]
    if not names:
        if (place / "config.ini").is_file():
            raise Refused(f"{TESTDATA}/config.ini is an old format: write a config.yaml.")
        return HydroConfig()
    file = f"{TESTDATA}/{names[0]}"
    config = checked(HydroConfig, mapping_of(read_yaml(place / names[0], file), file), file)
    if config.type in REFUSED_TYPES:
        raise key_error(
            file, "type", f"{REFUSED_TYPES[config.type]}, which can't be done here."
        )
    if config.type not in {"default", "interactive", "submit_answer"}:
        raise key_error(file, "type", f"is '{config.type[:40]}', which is not known.")
    for key, what in REFUSED_KEYS.items():
        if getattr(config, key):
            raise key_error(file, key, f"{what}, which can't be done here.")
    return config


def read_problem_yaml(root: Path) -> ProblemYaml:
    path = root / PROBLEM_FILE
    if not path.is_file():
        return ProblemYaml()
    return checked(
        ProblemYaml, mapping_of(read_yaml(path, PROBLEM_FILE), PROBLEM_FILE), PROBLEM_FILE
    )


def refused(key: str, what: str) -> Refused:
    return key_error(f"{TESTDATA}/{CONFIG_FILES[0]}", key, what)


def find_file(root: Path, name: str, key_path: str) -> str:
    """The path of a file that the config names."""
    try:
        path = clean_name(name)
    except Refused as fault:
        raise refused(key_path, f"can't be used. {fault}") from None
    for place in PLACES:
        if path and (root / TESTDATA / place / path).is_file():
            return f"{TESTDATA}/{place}{path}"
    raise refused(key_path, f"names {name[:100]!r}, which is not in {TESTDATA}/: add it.")
