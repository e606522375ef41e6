"""Pydantic types for values that several files of an ICPC package have."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BeforeValidator, Field

from deemster.problems.formats.icpc.folder import Folder
from deemster.problems.formats.yaml_file import InvalidValue

LICENSES = frozenset(
    {"unknown", "public domain", "cc0", "cc by", "cc by-sa", "educational", "permission"}
)
LANGUAGE_CODE = re.compile(r"[a-z]{2,3}(-[A-Z]{2})?")
CONSTANT_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
PositiveInt = Annotated[int, Field(gt=0, le=1 << 40)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


# ---- words ----


def split_flags(text: str) -> tuple[str, ...]:
    """Splits flags like a shell; at spaces if quotes don't match."""
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return tuple(text.split())


def as_flags(value: object) -> object:
    if isinstance(value, str):
        return split_flags(value)
    return as_words(value)


def as_words(value: object) -> object:
    """Turns numbers among arguments into text."""
    if is_number(value):
        return (str(value),)
    if isinstance(value, list):
        return tuple(str(each) if is_number(each) else each for each in value)
    return value


def as_sequence(value: object) -> object:
    """Accepts a single value in place of a list."""
    return (value,) if isinstance(value, str) else value


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


Flags = Annotated[tuple[str, ...], BeforeValidator(as_flags)]
Words = Annotated[tuple[str, ...], BeforeValidator(as_words)]
Several = Annotated[tuple[str, ...], BeforeValidator(as_sequence)]


# ---- people, sources, names ----


def as_person(value: object) -> object:
    """The name in `Full Name <mail>` or in a map with `name`."""
    if isinstance(value, str):
        return value.partition("<")[0].strip() or value.strip()
    if isinstance(value, dict):
        unknown = set(value) - {"name", "email", "orcid", "kattis"}
        if unknown:
            raise InvalidValue(
                f"has '{min(map(str, unknown))}', which no person has: remove it."
            )
        name = value.get("name")
        if not isinstance(name, str):
            raise InvalidValue("names nobody: give each person a name.")
        return as_person(name)
    raise InvalidValue("must be a name, or a map with a name, for each person.")


def as_people(value: object) -> object:
    if isinstance(value, list):
        return tuple(as_person(each) for each in value)
    return (as_person(value),)


People = Annotated[tuple[str, ...], BeforeValidator(as_people)]


def as_names(value: object) -> object:
    """Names by language; a single name is English."""
    if isinstance(value, str):
        return {"en": value}
    if isinstance(value, dict):
        for code, name in value.items():
            if not isinstance(code, str) or not LANGUAGE_CODE.fullmatch(code):
                raise InvalidValue(f"has {code!r}, which is no language: write en, or pt-BR.")
            if not isinstance(name, str):
                raise InvalidValue(f"has no text for {code}: write the name in quotes.")
        return value
    raise InvalidValue("must be text, or a map of languages to texts: write it in quotes.")


Names = Annotated[dict[str, str], BeforeValidator(as_names)]


CONSTANT_CHARS = 1_000
"""A file may name a constant at every fifth character."""


def as_constants(value: object) -> object:
    """Values as text; `x: {value: 5, word: five}` also defines `x.word`, as in BAPCtools."""
    if not isinstance(value, dict):
        raise InvalidValue("must be a map of names to values.")
    constants: dict[str, str] = {}
    for name, given in value.items():
        if not isinstance(name, str) or not CONSTANT_NAME.fullmatch(name):
            raise InvalidValue(f"has the name {name!r}: use letters, digits and _ only.")
        variants = given if isinstance(given, dict) else {"value": given}
        for variant, each in variants.items():
            if not isinstance(each, str) and not is_number(each):
                raise InvalidValue(f"gives {name} {each!r}: use a number or text.")
            if len(text := str(each)) > CONSTANT_CHARS:
                raise InvalidValue(
                    f"gives {name} a text of {len(text):,} characters: use at most "
                    f"{CONSTANT_CHARS:,}."
                )
            constants[f"{name}.{variant}"] = text
        if "value" not in variants:
            raise InvalidValue(f"gives {name} no value.")
        constants[name] = constants[f"{name}.value"]
        if not isinstance(given, dict):
            del constants[f"{name}.value"]
    return constants


Constants = Annotated[dict[str, str], BeforeValidator(as_constants)]


# ---- verdicts ----

ShortVerdict = Literal["AC", "WA", "TLE", "RTE"]


# ---- metadata ----


def add_metadata_warnings(
    folder: Folder,
    *,
    license_name: str,
    owner: str,
    authors: bool,
    source: bool,
    uuid: str,
) -> None:
    """Warns about license, owner and UUID in problem.yaml."""
    if license_name not in LICENSES:
        known = ", ".join(sorted(LICENSES))
        folder.warn(f"problem.yaml: the license '{license_name}' is not one of: {known}.")
    elif license_name == "public domain":
        if owner:
            folder.warn("problem.yaml: a problem in the public domain has no rights_owner.")
    elif license_name != "unknown" and not (owner or authors or source):
        folder.warn(
            f"problem.yaml: the license '{license_name}' needs an author, source or "
            "rights_owner."
        )
    if uuid and not is_uuid(uuid):
        folder.warn(f"problem.yaml: '{uuid}' is not a UUID.")


def is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def credit_text(people: Mapping[str, Sequence[str]]) -> str:
    """The authors, or each role with its people."""
    given = {role: names for role, names in people.items() if names}
    if set(given) == {"authors"}:
        return ", ".join(given["authors"])
    return "; ".join(f"{role}: {', '.join(names)}" for role, names in given.items())
