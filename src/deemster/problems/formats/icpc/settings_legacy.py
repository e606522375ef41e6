"""Reads the problem.yaml of `legacy` and `legacy-icpc`, with the additions of tools."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from deemster.problems.formats.icpc.domjudge_files import DomjudgeFiles
from deemster.problems.formats.icpc.field_types import (
    Constants,
    Finite,
    Flags,
    Names,
    Positive,
    add_metadata_warnings,
    credit_text,
)
from deemster.problems.formats.icpc.folder import Folder
from deemster.problems.formats.icpc.limits import LimitsYaml, limits_of
from deemster.problems.formats.icpc.settings import IcpcSettings, LegacyGrading, Version
from deemster.problems.formats.yaml_file import FileModel, checked, key_error, mapping_of

FILE = "problem.yaml"
KINDS = frozenset({"pass-fail", "scoring", "interactive", "multi-pass"})
VALIDATION_WORDS = frozenset({"score", "interactive", "multi-pass"})


def as_split(value: object) -> object:
    return tuple(value.split()) if isinstance(value, str) else value


SplitWords = Annotated[tuple[str, ...], BeforeValidator(as_split)]


class LegacyLimits(LimitsYaml):
    time_multiplier: Positive = 5
    time_safety_margin: Positive = 2
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
    add_metadata_warnings(
        folder,
        license_name=yaml.license.lower(),
        owner=yaml.rights_owner,
        authors=bool(yaml.author),
        source=bool(yaml.source),
        uuid=yaml.uuid,
    )
    if yaml.source_url and not yaml.source:
        folder.warn(f"{FILE}: source_url is given without a source.")
    if yaml.libraries:
        folder.warn(f"{FILE}: libraries is not supported, and ignored.")
    names = yaml.name or ({"en": domjudge.name} if domjudge.name else {})
    return IcpcSettings(
        version=version,
        scoring="scoring" in kinds,
        interactive="interactive" in kinds,
        multi_pass="multi-pass" in kinds,
        custom=yaml.validation[0] == "custom" or bool(kinds & {"interactive", "multi-pass"}),
        validator_flags=yaml.validator_flags or yaml.validator_args,
        names=names,
        limits=limits_of(
            folder,
            yaml.limits,
            domjudge,
            accepted_to_limit=yaml.limits.time_multiplier,
            limit_to_tle=yaml.limits.time_safety_margin,
            multi_pass="multi-pass" in kinds,
        ),
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
