"""The problem.yaml of `legacy` and `legacy-icpc`, with what the tools of its time added."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from deemster.domain.problem import ProblemLimits
from deemster.problems.formats.icpc.companions import Companions
from deemster.problems.formats.icpc.folder import Folder
from deemster.problems.formats.icpc.settings import (
    MIB,
    LegacyGrading,
    Settings,
    Version,
    milliseconds,
)
from deemster.problems.formats.icpc.values import (
    Constants,
    Finite,
    Flags,
    Names,
    Positive,
    PositiveInt,
    credit_text,
    remarks,
)
from deemster.problems.formats.yaml_file import FileModel, checked, key_error, mapping_of

FILE = "problem.yaml"
KINDS = frozenset({"pass-fail", "scoring", "interactive", "multi-pass"})
VALIDATION_WORDS = frozenset({"score", "interactive", "multi-pass"})


def as_split(value: object) -> object:
    return tuple(value.split()) if isinstance(value, str) else value


SplitWords = Annotated[tuple[str, ...], BeforeValidator(as_split)]


class Limits(FileModel):
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


class Grading(FileModel):
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
    limits: Limits = Limits()
    validation: SplitWords = ("default",)
    validator_flags: Flags = ()
    # Of DOMjudge, beside or instead of validator_flags.
    validator_args: Flags = ()
    grading: Grading = Grading()
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
    folder: Folder, given: Mapping[str, object], version: Version, companions: Companions
) -> Settings:
    values = dict(given)
    for part in ("limits", "grading"):
        if part in values:
            values[part] = mapping_of(values[part], FILE, part)
    said = checked(LegacyYaml, values, FILE)
    if version is Version.LEGACY_ICPC and "grading" in values:
        raise key_error(FILE, "grading", "is not of legacy-icpc: remove it.")
    kinds = kinds_of(said, version)
    warn_of(folder, said)
    names = said.name or ({"en": companions.name} if companions.name else {})
    return Settings(
        version=version,
        scoring="scoring" in kinds,
        interactive="interactive" in kinds,
        multi_pass="multi-pass" in kinds,
        custom=said.validation[0] == "custom" or bool(kinds & {"interactive", "multi-pass"}),
        validator_flags=said.validator_flags or said.validator_args,
        names=names,
        limits=limits_of(folder, said.limits, companions, multi_pass="multi-pass" in kinds),
        languages=None if "all" in said.languages else frozenset(said.languages),
        constants=said.constants,
        keywords=said.keywords,
        credits=credit_text({"authors": [said.author] if said.author else []}),
        source=said.source + (f" ({said.source_url})" if said.source_url else ""),
        license=said.license.lower(),
        uuid=said.uuid,
        objective=said.grading.objective,
        show_groups=said.grading.show_test_data_groups,
        allow_file_writing=said.allow_file_writing,
        grading=grading_of(said.grading, scoring="scoring" in kinds),
    )


def kinds_of(said: LegacyYaml, version: Version) -> frozenset[str]:
    """The type, with what `validation` says of it."""
    for word in said.type:
        if word not in KINDS:
            raise key_error(FILE, "type", f"is '{word}': write pass-fail or scoring.")
    kinds = set(said.type)
    if {"pass-fail", "scoring"} <= kinds:
        raise key_error(FILE, "type", "is both pass-fail and scoring: keep one.")
    if not said.validation or said.validation[0] not in {"default", "custom"}:
        raise key_error(FILE, "validation", "must begin with default or custom.")
    first, *others = said.validation
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
    folder: Folder, said: Limits, companions: Companions, *, multi_pass: bool
) -> ProblemLimits:
    if said.validation_passes is not None and not multi_pass:
        folder.warn(f"{FILE}: limits.validation_passes is only for multi-pass problems.")
    seconds = companions.time_limit(folder, said.time_limit)
    return ProblemLimits(
        time_ms=None if seconds is None else milliseconds(seconds),
        accepted_to_limit=said.time_multiplier,
        limit_to_tle=said.time_safety_margin,
        resolution_ms=milliseconds(said.time_resolution),
        memory_bytes=said.memory * MIB,
        output_bytes=said.output * MIB,
        code_bytes=said.code * 1024,
        compile_ms=milliseconds(said.compilation_time),
        compile_memory_bytes=said.compilation_memory * MIB,
        validation_ms=milliseconds(said.validation_time),
        validation_memory_bytes=said.validation_memory * MIB,
        validation_output_bytes=said.validation_output * MIB,
        passes=(said.validation_passes or 2) if multi_pass else 1,
    )


def grading_of(said: Grading, *, scoring: bool) -> LegacyGrading:
    if said.show_test_data_groups and not scoring:
        raise key_error(
            FILE, "grading.show_test_data_groups", "is only for 'type: scoring': remove it."
        )
    if not scoring:
        for key in ("accept_score", "reject_score", "range"):
            if getattr(said, key) is not None:
                raise key_error(
                    FILE, f"grading.{key}", "is only for 'type: scoring': remove it."
                )
    stops = {"first_error": True, "grade": False}
    return LegacyGrading(
        accept_score=said.accept_score,
        reject_score=said.reject_score,
        range=said.range,
        stop_at_reject=stops.get(said.on_reject or ""),
    )


def warn_of(folder: Folder, said: LegacyYaml) -> None:
    for remark in remarks(
        license_name=said.license.lower(),
        owner=said.rights_owner,
        authors=bool(said.author),
        source=bool(said.source),
        uuid=said.uuid,
    ):
        folder.warn(f"{FILE}: {remark}")
    if said.source_url and not said.source:
        folder.warn(f"{FILE}: source_url is given without a source.")
    if said.libraries:
        folder.warn(f"{FILE}: libraries is not supported, and ignored.")
