"""Reads the problem.yaml of `2025-09` and of its drafts."""

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictBool

from deemster.problems.formats.icpc.domjudge_files import DomjudgeFiles
from deemster.problems.formats.icpc.field_types import (
    Constants,
    Flags,
    Names,
    People,
    PositiveInt,
    Several,
    add_metadata_warnings,
    credit_text,
)
from deemster.problems.formats.icpc.folder import Folder
from deemster.problems.formats.icpc.languages import CODES
from deemster.problems.formats.icpc.limits import LimitsYaml, limits_of
from deemster.problems.formats.icpc.settings import IcpcSettings, Version
from deemster.problems.formats.yaml_file import (
    FileModel,
    InvalidValue,
    checked,
    key_error,
    mapping_of,
)

FILE = "problem.yaml"
INCOMPATIBLE = (
    ("pass-fail", "scoring"),
    ("submit-answer", "multi-pass"),
    ("submit-answer", "interactive"),
)
KINDS = frozenset({"pass-fail", "scoring", "multi-pass", "interactive", "submit-answer"})
MOVED = {
    "author": "credits.authors",
    "source_url": "source.url",
    "validation": "type, and a program in output_validator/",
    "validator_flags": "output_validator_args in data/secret/test_group.yaml",
    "grading": "max_score and score_aggregation in test_group.yaml",
    "libraries": "nothing",
}

Factor = Annotated[float, Field(strict=True, ge=1, allow_inf_nan=False)]


class TimeMultipliers(FileModel):
    ac_to_time_limit: Factor = 2.0
    time_limit_to_tle: Factor = 1.5


class Limits2025(LimitsYaml, strict=True):
    time_multipliers: TimeMultipliers = TimeMultipliers()
    compilation_time: PositiveInt = 60
    validation_time: PositiveInt = 60


def as_credits(value: object) -> object:
    return {"authors": value} if isinstance(value, str | list) else value


class Credits(FileModel):
    authors: People = ()
    contributors: People = ()
    testers: People = ()
    translators: dict[str, People] = Field(default={})
    packagers: People = ()
    acknowledgements: People = ()


def as_source(value: object) -> object:
    """One text for all sources, with their URLs."""
    if isinstance(value, list):
        texts = [str(as_source(each)) for each in value]
        return ", ".join(text for text in texts if text)
    if isinstance(value, dict):
        unknown = set(value) - {"name", "url"}
        name, url = value.get("name"), value.get("url")
        if not unknown and name is None and url is None:
            return ""  # as BAPCtools' template leaves it
        if unknown or not isinstance(name, str):
            raise InvalidValue("must have a name and may have a url, and nothing else.")
        return f"{name} ({url})" if url else name
    if not isinstance(value, str):
        raise InvalidValue("must be text, a map with name and url, or a list of these.")
    return value


def as_day(value: object) -> object:
    if not isinstance(value, date):
        raise InvalidValue("must be a day such as 2026-01-31, or that with a time in UTC.")
    return value


class Yaml2025(FileModel):
    problem_format_version: str
    type: Several = ("pass-fail",)
    name: Names
    uuid: str
    version: Any = None
    credits: Annotated[Credits, BeforeValidator(as_credits)] = Credits()
    source: Annotated[str, BeforeValidator(as_source)] = ""
    license: str = "unknown"
    rights_owner: str = ""
    embargo_until: Annotated[Any, BeforeValidator(as_day)] = None
    limits: Limits2025 = Limits2025()
    keywords: Several = ()
    languages: Several = ("all",)
    allow_file_writing: StrictBool = False
    constants: Constants = Field(default={})
    # Of BAPCtools.
    verified: Any = None
    comment: Any = None
    ans_is_output: Any = None


class DraftLimits(Limits2025):
    # Of the legacy format; BAPCtools still accepts them.
    time_multiplier: Factor | None = None
    time_safety_margin: Factor | None = None


class DraftYaml(Yaml2025):
    uuid: str = ""
    limits: DraftLimits = DraftLimits()
    # Of earlier drafts.
    validation: Any = None
    author: People = ()
    source_url: str = ""
    validator_flags: Flags = ()


def read_2025(
    folder: Folder, given: Mapping[str, object], version: Version, domjudge: DomjudgeFiles
) -> IcpcSettings:
    values = dict(given)
    if version is Version.V2025_09:
        for key, place in MOVED.items():
            if key in values:
                raise key_error(FILE, key, f"is of older versions: use {place} instead.")
    if "limits" in values:
        limits = mapping_of(values["limits"], FILE, "limits")
        if "time_multipliers" in limits:
            limits["time_multipliers"] = mapping_of(
                limits["time_multipliers"], FILE, "limits.time_multipliers"
            )
        values["limits"] = limits
    if isinstance(values.get("credits"), dict):
        values["credits"] = mapping_of(values["credits"], FILE, "credits")
    yaml = checked(DraftYaml if version is Version.DRAFT else Yaml2025, values, FILE)
    kinds = kinds_of(folder, yaml)
    people = people_of(yaml)
    add_metadata_warnings(
        folder,
        license_name=yaml.license,
        owner=yaml.rights_owner,
        authors=bool(people["authors"]),
        source=bool(yaml.source),
        uuid=yaml.uuid,
    )
    multipliers = multipliers_of(yaml.limits)
    return IcpcSettings(
        version=version,
        scoring="scoring" in kinds,
        interactive="interactive" in kinds,
        multi_pass="multi-pass" in kinds,
        submit_answer="submit-answer" in kinds,
        validator_flags=yaml.validator_flags if isinstance(yaml, DraftYaml) else (),
        names=yaml.name,
        limits=limits_of(
            folder,
            yaml.limits,
            domjudge,
            accepted_to_limit=multipliers.ac_to_time_limit,
            limit_to_tle=multipliers.time_limit_to_tle,
            multi_pass="multi-pass" in kinds,
        ),
        languages=languages_of(yaml.languages),
        constants=yaml.constants,
        keywords=yaml.keywords,
        credits=credit_text(people),
        source=yaml.source,
        license=yaml.license,
        uuid=yaml.uuid,
        allow_file_writing=yaml.allow_file_writing,
    )


def kinds_of(folder: Folder, yaml: Yaml2025) -> frozenset[str]:
    words = [word for each in yaml.type for word in each.split()]
    if len(words) != len(yaml.type):
        folder.warn(f"{FILE}: several types belong in a list: type: [{', '.join(words)}].")
    if not words:
        raise key_error(FILE, "type", "is empty: name a type, or remove it.")
    for word in words:
        if word not in KINDS:
            raise key_error(FILE, "type", f"is '{word}': use {', '.join(sorted(KINDS))}.")
        if words.count(word) > 1:
            raise key_error(FILE, "type", f"names '{word}' twice: keep one.")
    for one, other in INCOMPATIBLE:
        if one in words and other in words:
            raise key_error(FILE, "type", f"can't be both {one} and {other}: keep one.")
    return frozenset(words)


def languages_of(codes: tuple[str, ...]) -> frozenset[str] | None:
    if not codes:
        raise key_error(FILE, "languages", "is empty: name languages, or write all.")
    if codes == ("all",):
        return None
    for code in codes:
        if code not in CODES:
            raise key_error(
                FILE, "languages", f"has '{code}', which the format doesn't know: correct it."
            )
    return frozenset(codes)


def multipliers_of(yaml: Limits2025) -> TimeMultipliers:
    """The multipliers; drafts may have the older keys instead."""
    if not isinstance(yaml, DraftLimits):
        return yaml.time_multipliers
    older = {
        "ac_to_time_limit": yaml.time_multiplier,
        "time_limit_to_tle": yaml.time_safety_margin,
    }
    given = yaml.time_multipliers.model_fields_set
    used = {key: value for key, value in older.items() if value and key not in given}
    return yaml.time_multipliers.model_copy(update=used)


def people_of(yaml: Yaml2025) -> dict[str, tuple[str, ...]]:
    given = yaml.credits
    translators = tuple(name for names in given.translators.values() for name in names)
    authors = given.authors or (yaml.author if isinstance(yaml, DraftYaml) else ())
    return {
        "authors": authors,
        "contributors": given.contributors,
        "testers": given.testers,
        "translators": translators,
        "packagers": given.packagers,
        "acknowledgements": given.acknowledgements,
    }
