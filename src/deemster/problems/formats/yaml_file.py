"""Reads untrusted YAML strictly, with errors that name the file and the key.

The size, the depth and the expansion of aliases are bounded; duplicate keys are refused.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from deemster.domain.errors import Refused
from deemster.pattern_messages import fault_text

MAX_BYTES = 256 * 1024
MAX_NODES = 50_000
"""Counted after the expansion of aliases."""
MAX_DEPTH = 40
SHOWN_CHARACTERS = 80
MERGE_TAG = "tag:yaml.org,2002:merge"


class FileModel(BaseModel):
    """A file of a package, or a part of it; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class InvalidValue(ValueError):
    """A value that a key can't have; the message continues 'the key …'."""


M = TypeVar("M", bound=BaseModel)
OnDuplicate = Callable[[str], None]
"""Called for each duplicate key, of which the last one counts."""


def key_error(file: str, key: str, what: str) -> Refused:
    """`what` continues 'the key …'."""
    return Refused(f"{file}: the key '{key}' {what}")


def read_yaml(path: Path, file: str, on_duplicate: OnDuplicate | None = None) -> object:
    """The value of a file, None if it is empty; `file` is its name in messages."""
    return parse_yaml(read_text(path, file), file, on_duplicate)


def read_text(path: Path, file: str) -> str:
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise Refused(f"{file} has {size:,} bytes, and the limit is {MAX_BYTES:,}: shorten it.")
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(
            f"{file} is not UTF-8 text (byte {error.start}): save it as UTF-8."
        ) from None


def parse_yaml(text: str, file: str, on_duplicate: OnDuplicate | None = None) -> object:
    try:
        loader = yaml.SafeLoader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            check_nodes(node, file, loader, on_duplicate)
            value: object = loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise Refused(f"{file} is not valid YAML: {yaml_error_text(error)}.") from None
    except RecursionError:
        raise Refused(f"{file} is nested too deeply: flatten it.") from None
    except ValueError as error:
        # A date such as 2025-13-01.
        raise Refused(f"{file} has a value that can't be: {error}.") from None
    return value


def yaml_error_text(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    where = f" in line {mark.line + 1}" if mark is not None else ""
    return f"{' '.join(problem.split())}{where}"


# ---- checks that need the nodes ----


def check_nodes(
    root: yaml.Node, file: str, loader: yaml.SafeLoader, on_duplicate: OnDuplicate | None
) -> None:
    sizes: dict[int, int] = {}

    def unfolded(node: yaml.Node, depth: int, above: frozenset[int]) -> int:
        if id(node) in above:
            raise Refused(f"{file} has an alias to a value that contains it: write it out.")
        if depth > MAX_DEPTH:
            raise Refused(f"{file} is nested deeper than {MAX_DEPTH} levels: flatten it.")
        if id(node) not in sizes:
            inside = above | {id(node)}
            total = 1 + sum(unfolded(each, depth + 1, inside) for each in children(node))
            if total > MAX_NODES:
                raise Refused(f"{file} has more than {MAX_NODES:,} values: remove some.")
            sizes[id(node)] = total
            if isinstance(node, yaml.MappingNode):
                check_keys(node, file, loader, on_duplicate)
        return sizes[id(node)]

    unfolded(root, 0, frozenset())


def children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [each for pair in node.value for each in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def check_keys(
    node: yaml.MappingNode, file: str, loader: yaml.SafeLoader, on_duplicate: OnDuplicate | None
) -> None:
    seen: set[Hashable] = set()
    for key_node, _ in node.value:
        if key_node.tag == MERGE_TAG:
            continue
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, Hashable):
            raise Refused(
                f"{file} has a key that is a list or a map, in line {line(key_node)}."
            )
        if key in seen:
            if on_duplicate is None:
                raise key_error(
                    file, str(key), f"appears twice (line {line(key_node)}): keep one."
                )
            on_duplicate(str(key))
        seen.add(key)


def line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


# ---- models ----


def mapping_of(value: object, file: str, key: str = "") -> dict[str, object]:
    """A map with text keys, without the keys that have no value."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        if key:
            raise key_error(file, key, f"must be a map of names to values, not {shown(value)}.")
        raise Refused(f"{file} must be a map of names to values, not {shown(value)}.")
    for name in value:
        if not isinstance(name, str):
            raise key_error(file, joined((key, name)), "is not text: write it in quotes.")
    return {name: each for name, each in value.items() if each is not None}


def checked(model: type[M], values: Mapping[str, object], file: str, above: str = "") -> M:
    """The model, or an error that names the file and the key."""
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        raise refusal(model, error, values, file, above) from None


def refusal(
    model: type[BaseModel],
    error: ValidationError,
    values: Mapping[str, object],
    file: str,
    above: str,
) -> Refused:
    faults = error.errors(include_url=False)
    # A misspelt key is also a missing one; the misspelling is the better message.
    first = min(faults, key=lambda fault: fault["type"] != "extra_forbidden")
    path = real_keys(first["loc"], values, missing=first["type"] == "missing")
    key = joined((above, *path))
    if first["type"] == "extra_forbidden":
        known = [field.alias or name for name, field in model.model_fields.items()]
        close = get_close_matches(str(path[-1]), known, n=1) if len(path) == 1 else []
        hint = f" (is '{close[0]}' meant?)" if close else ""
        return key_error(file, key, f"is not known{hint}: correct or remove it.")
    if first["type"] == "missing":
        return key_error(file, key, "is missing: add it.")
    said = fault_text(first).removeprefix("Input ")
    if first["type"] == "value_error":
        return key_error(file, key, said)
    if first["type"] == "string_pattern_mismatch":
        return key_error(file, key, f"is {shown(first['input'])}: {said}.")
    return key_error(file, key, f"{said}, and is {shown(first['input'])}: correct it.")


def real_keys(
    location: Sequence[int | str], values: object, *, missing: bool
) -> list[int | str]:
    """The parts of pydantic's location that are keys of the file."""
    path: list[int | str] = []
    for part in location:
        inside, values = entry_of(values, part)
        if inside or (missing and part == location[-1]):
            path.append(part)
    return path or list(location)


def entry_of(values: object, part: int | str) -> tuple[bool, object]:
    if isinstance(values, Mapping) and part in values:
        return True, values[part]
    if isinstance(values, list) and isinstance(part, int) and part < len(values):
        return True, values[part]
    return False, values


def joined(path: Sequence[Any]) -> str:
    return ".".join(str(part) for part in path if part != "")


def shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
