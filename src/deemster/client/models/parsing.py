"""Makes results of JSON; fields that this version does not know are only in `raw`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from types import NoneType, UnionType
from typing import Any, Final, TypeVar, get_args, get_origin, get_type_hints

from deemster.client.errors import UnexpectedAnswerError


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The object as the server sent it; a newer server may send more fields."""


M = TypeVar("M", bound=Model)
KNOWN_FIELDS: Final[dict[type[Model], dict[str, Any]]] = {}


def parse(kind: type[M], data: Any) -> M:
    try:
        return make(kind, data)
    except (AttributeError, KeyError, TypeError, ValueError) as fault:
        raise unexpected(f"it has no valid {kind.__name__}: {fault!r}") from fault


def parse_json(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError as fault:
        raise unexpected("it is no JSON") from fault


def unexpected(reason: str) -> UnexpectedAnswerError:
    return UnexpectedAnswerError(
        f"The answer is not one of Deemster ({reason}): check the URL of the server."
    )


def make(kind: type[M], data: Mapping[str, Any]) -> M:
    known = {
        name: convert(hint, data[name])
        for name, hint in known_fields(kind).items()
        if name in data
    }
    return kind(raw=data, **known)


def known_fields(kind: type[Model]) -> dict[str, Any]:
    """The types of the fields by name."""
    if kind not in KNOWN_FIELDS:
        hints = get_type_hints(kind)
        names = [each.name for each in fields(kind) if each.name != "raw"]
        KNOWN_FIELDS[kind] = {name: hints[name] for name in names}
    return KNOWN_FIELDS[kind]


def convert(hint: Any, value: Any) -> Any:
    if get_origin(hint) is UnionType:
        inner = next(each for each in get_args(hint) if each is not NoneType)
        return None if value is None else convert(inner, value)
    if get_origin(hint) is tuple:
        return tuple(convert(get_args(hint)[0], each) for each in value)
    if hint is datetime:
        return datetime.fromisoformat(value)
    if isinstance(hint, type) and issubclass(hint, Model):
        return make(hint, value)
    if hint is float:
        return float(value)
    if isinstance(hint, type) and not isinstance(value, hint):
        raise TypeError(f"{value!r} is no {hint.__name__}")
    return value
