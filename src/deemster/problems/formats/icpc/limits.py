"""Reads the limits of problem.yaml, of which all versions of the format have most."""

import math
from typing import Annotated, Any

from pydantic import Field

from deemster.domain.limits import MIB
from deemster.domain.problem import ProblemLimits
from deemster.problems.formats.icpc.domjudge_files import DomjudgeFiles
from deemster.problems.formats.icpc.field_types import Positive, PositiveInt
from deemster.problems.formats.icpc.folder import Folder
from deemster.problems.formats.yaml_file import FileModel


class LimitsYaml(FileModel):
    memory: PositiveInt = 2048
    output: PositiveInt = 8
    code: PositiveInt = 128
    compilation_time: Positive = 60
    compilation_memory: PositiveInt = 2048
    validation_time: Positive = 60
    validation_memory: PositiveInt = 2048
    validation_output: PositiveInt = 8
    # In legacy packages, of DOMjudge and BAPCtools.
    time_limit: Positive | None = None
    time_resolution: Positive = 1
    validation_passes: Annotated[int, Field(ge=2)] | None = None
    # Of BAPCtools.
    generator_time: Any = None
    visualizer_time: Any = None


def limits_of(
    folder: Folder,
    yaml: LimitsYaml,
    domjudge: DomjudgeFiles,
    *,
    accepted_to_limit: float,
    limit_to_tle: float,
    multi_pass: bool,
) -> ProblemLimits:
    if yaml.validation_passes is not None and not multi_pass:
        folder.warn("problem.yaml: limits.validation_passes is only for multi-pass problems.")
    seconds = domjudge.time_limit(folder, yaml.time_limit)
    return ProblemLimits(
        time_ms=None if seconds is None else milliseconds(seconds),
        accepted_to_limit=accepted_to_limit,
        limit_to_tle=limit_to_tle,
        resolution_ms=milliseconds(yaml.time_resolution),
        memory_bytes=yaml.memory * MIB,
        output_bytes=yaml.output * MIB,
        code_bytes=yaml.code * 1024,
        compile_ms=milliseconds(yaml.compilation_time),
        compile_memory_bytes=yaml.compilation_memory * MIB,
        validation_ms=milliseconds(yaml.validation_time),
        validation_memory_bytes=yaml.validation_memory * MIB,
        validation_output_bytes=yaml.validation_output * MIB,
        passes=(yaml.validation_passes or 2) if multi_pass else 1,
    )


def milliseconds(seconds: float) -> int:
    """Returns the time in milliseconds, rounded up."""
    return max(1, math.ceil(seconds * 1000 - 1e-6))
