"""Reads the problem.yaml of `legacy` and `legacy-icpc`, with the additions of tools."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from deemster.domain.problem import ProblemLimits
from deemster.problems.formats.icpc.domjudge_files import DomjudgeFiles
from deemster.problems.formats.icpc.field_types import (
    Constants,
    Finite,
    Flags,
    Names,
    Positive,
    PositiveInt,
    credit_text,
    metadata_warnings,
)
from deemster.problems.formats.icpc.folder import Folder
from deemster.problems.formats.icpc.settings import (
    MIB,
    IcpcSettings,
    LegacyGrading,
    Version,
    milliseconds,
)
from deemster.problems.formats.yaml_file import FileModel, checked, key_error, mapping_of

FILE = "problem.yaml"
KINDS = frozenset({"pass-fail", "scoring", "interactive", "multi-pass"})
VALIDATION_WORDS = frozenset({"score", "interactive", "multi-pass"})


def as_split(value: object) -> object:
    return tuple(value.split()) if isinstance(value, str) else value


SplitWords = Annotated[tuple[str, ...], BeforeValidator(as_split)]


class LegacyLimits(FileModel):
    time_multiplier: Positive = 5
    time_safety_margin: Positive = 2
    memory: PositiveInt = 2048
    output: PositiveInt = 8
    code: PositiveInt = 128
    compilation_time: Positive = 60
    compilation_memory: PositiveInt = 2048
    validation_time: Positive = 60
    validation_memory: PositiveInt = 2048
    validation_output: PositiveInt = 8
    # Of DOMjudge and BAPCtools.
    time_limit: Positive | None = None
    time_resolution: Positive = 1
    validation_passes: Annotated[int, Field(ge=2)] | None = None
    generator_time: Any = None
    visualizer_time: Any = None
    # Of problemtools.
    time_for_AC_submissions: Any = None  # noqa: N815


class GradingYaml(FileModel):
    objective: Literal["max", "min"] = "max"
    show_test_data_groups: bool = False
    # Before groups had files of their own.
    accept_score: Finite | None = None
    reject_score: Finite | None = None
    range: str | None = None
    on_reject: Literal["first_error", "worst_error", "grade"] | None = None


class LegacyYaml(FileModel):
    problem_format_version: str = "legacy"
    type: SplitWords = ("pass-fail",)
    name: Names = Field(default={})
    uuid: str = ""
    author: str = ""
    source: str = ""
    source_url: str = ""
    license: str = "unknown"
    rights_owner: str = ""
    limits: LegacyLimits = LegacyLimits()
    validation: SplitWords = ("default",)
    validator_flags: Flags = ()
    # Of DOMjudge, beside or instead of validator_flags.
    validator_args: Flags = ()
    grading: GradingYaml = GradingYaml()
    keywords: SplitWords = ()
    # Of old problemtools.
    languages: SplitWords = ("all",)
    libraries: str = ""
    # Of BAPCtools, and what it leaves in packages that it writes for older judges.
    verified: Any = None
    comment: Any = None
    ans_is_output: Any = None
    version: Any = None
    embargo_until: Any = None
    allow_file_writing: bool = True
    constants: Constants = Field(default={})


def read_legacy(
    folder: Folder, given: Mapping[str, object], version: Version, domjudge: DomjudgeFiles
) -> IcpcSettings:
    values = dict(given)
    for part in ("limits", "grading"):
        if part in values:
            values[part] = mapping_of(values[part], FILE, part)
    yaml = checked(LegacyYaml, values, FILE)
    if version is Version.LEGACY_ICPC and "grading" in values:
        raise key_error(FILE, "grading", "is not of legacy-icpc: remove it.")
    kinds = kinds_of(yaml, version)
    add_warnings(folder, yaml)
    names = yaml.name or ({"en": domjudge.name} if domjudge.name else {})
    return IcpcSettings(
        version=version,
        scoring="scoring" in kinds,
        interactive="interactive" in kinds,
        multi_pass="multi-pass" in kinds,
        custom=yaml.validation[0] == "custom" or bool(kinds & {"interactive", "multi-pass"}),
        validator_flags=yaml.validator_flags or yaml.validator_args,
        names=names,
        limits=limits_of(folder, yaml.limits, domjudge, multi_pass="multi-pass" in kinds),
        languages=None if "all" in yaml.languages else frozenset(yaml.languages),
        constants=yaml.constants,
        keywords=yaml.keywords,
        credits=credit_text({"authors": [yaml.author] if yaml.author else []}),
        source=yaml.source + (f" ({yaml.source_url})" if yaml.source_url else ""),
        license=yaml.license.lower(),
        uuid=yaml.uuid,
        objective=yaml.grading.objective,
        show_groups=yaml.grading.show_test_data_groups,
        allow_file_writing=yaml.allow_file_writing,
        grading=grading_of(yaml.grading, scoring="scoring" in kinds),
    )


def kinds_of(yaml: LegacyYaml, version: Version) -> frozenset[str]:
    """The words of `type` and `validation`."""
    for word in yaml.type:
        if word not in KINDS:
            raise key_error(FILE, "type", f"is '{word}': write pass-fail or scoring.")
    kinds = set(yaml.type)
    if {"pass-fail", "scoring"} <= kinds:
        raise key_error(FILE, "type", "is both pass-fail and scoring: keep one.")
    if not yaml.validation or yaml.validation[0] not in {"default", "custom"}:
        raise key_error(FILE, "validation", "must begin with default or custom.")
    first, *others = yaml.validation
    for word in others:
        if first == "default" or word not in VALIDATION_WORDS:
            known = ", ".join(sorted(VALIDATION_WORDS))
            raise key_error(
                FILE, "validation", f"has '{word}': only after custom, and only {known}."
            )
    if version is Version.LEGACY_ICPC and ("scoring" in kinds or "score" in others):
        key = "type" if "scoring" in kinds else "validation"
        raise key_error(FILE, key, "gives scores, which legacy-icpc has not: use legacy.")
    if "score" in others and "scoring" not in kinds:
        raise key_error(FILE, "validation", "has 'score', which needs 'type: scoring'.")
    return frozenset(kinds | (set(others) - {"score"}))


def limits_of(
    folder: Folder, yaml: LegacyLimits, domjudge: DomjudgeFiles, *, multi_pass: bool
) -> ProblemLimits:
    if yaml.validation_passes is not None and not multi_pass:
        folder.warn(f"{FILE}: limits.validation_passes is only for multi-pass problems.")
    seconds = domjudge.time_limit(folder, yaml.time_limit)
    return ProblemLimits(
        time_ms=None if seconds is None else milliseconds(seconds),
        accepted_to_limit=yaml.time_multiplier,
        limit_to_tle=yaml.time_safety_margin,
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


def grading_of(yaml: GradingYaml, *, scoring: bool) -> LegacyGrading:
    if yaml.show_test_data_groups and not scoring:
        raise key_error(
            FILE, "grading.show_test_data_groups", "is only for 'type: scoring': remove it."
        )
    if not scoring:
        for key in ("accept_score", "reject_score", "range"):
            if getattr(yaml, key) is not None:
                raise key_error(
                    FILE, f"grading.{key}", "is only for 'type: scoring': remove it."
                )
    stops = {"first_error": True, "grade": False}
    return LegacyGrading(
        accept_score=yaml.accept_score,
        reject_score=yaml.reject_score,
        range=yaml.range,
        stop_at_reject=stops.get(yaml.on_reject or ""),
    )


def add_warnings(folder: Folder, yaml: LegacyYaml) -> None:
    for warning in metadata_warnings(
        license_name=yaml.license.lower(),
        owner=yaml.rights_owner,
        authors=bool(yaml.author),
        source=bool(yaml.source),
        uuid=yaml.uuid,
    ):
        folder.warn(f"{FILE}: {warning}")
    if yaml.source_url and not yaml.source:
        folder.warn(f"{FILE}: source_url is given without a source.")
    if yaml.libraries:
        folder.warn(f"{FILE}: libraries is not supported, and ignored.")
