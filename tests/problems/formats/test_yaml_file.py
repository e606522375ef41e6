"""Untrusted YAML is read strictly, and errors name the file and the key."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from deemster.domain.errors import Refused
from deemster.problems.formats.yaml_file import (
    MAX_BYTES,
    FileModel,
    checked,
    mapping_of,
    parse_yaml,
    read_yaml,
)


class Colours(FileModel):
    name: str
    shades: dict[str, int] = Field(default={})
    size: int = 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: 1\na: 2\n", "the key 'a' appears twice (line 2)"),
        ("b: {c: 1, c: 2}\n", "the key 'c' appears twice (line 1)"),
        ("a: [1\n", "is not valid YAML"),
        ("a: 1\n---\nb: 2\n", "is not valid YAML"),
        ("a: !!python/object/apply:os.system [id]\n", "is not valid YAML"),
        ("? [1, 2]\n: x\n", "a key that is a list or a map"),
        ("a: &x [*x]\n", "alias to a value that contains it"),
        ("a: 2025-13-01\n", "a value that can't be"),
        ("[" * 100 + "]" * 100, "nested deeper"),
        ("[" * 600, "nested too deeply"),
        ("a: " + "[1," * 600, "nested too deeply"),
    ],
)
def test_invalid_yaml_is_refused(text: str, told: str) -> None:
    with pytest.raises(Refused, match=re.escape(told)) as caught:
        parse_yaml(text, "some/file.yaml")
    assert str(caught.value).startswith("some/file.yaml")


def test_aliases_that_expand_too_far_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(Refused, match="more than 50,000 values"):
        parse_yaml("\n".join(lines), "bomb.yaml")


def test_a_few_aliases_and_merges_are_allowed() -> None:
    value = parse_yaml("a: &a {x: 1}\nb: {<<: *a, y: 2}\nc: *a\n", "f")
    assert value == {"a": {"x": 1}, "b": {"x": 1, "y": 2}, "c": {"x": 1}}


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(Refused, match=r"large\.yaml has 262,145 bytes"):
        read_yaml(path, "large.yaml")


def test_a_byte_order_mark_is_skipped_and_other_encodings_are_refused(
    tmp_path: Path,
) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\n")
    assert read_yaml(path, "f.yaml") == {"a": 1}
    path.write_bytes(b"a: \xff\n")
    with pytest.raises(Refused, match=r"f\.yaml is not UTF-8 text"):
        read_yaml(path, "f.yaml")


def test_duplicate_keys_can_be_reported_instead_of_refused() -> None:
    told: list[str] = []
    assert parse_yaml("a: 1\na: 2\n", "f", told.append) == {"a": 2}
    assert told == ["a"]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({}, "f.yaml: the key 'name' is missing: add it."),
        ({"name": "x", "sice": 1}, "the key 'sice' is not known (is 'size' meant?)"),
        ({"name": 5}, "the key 'name' should be a valid string, and is 5: correct it."),
        ({"name": "x", "shades": {"red": "dark"}}, "the key 'shades.red' should be a valid"),
    ],
)
def test_a_wrong_key_is_named_with_what_to_do(values: dict[str, object], told: str) -> None:
    with pytest.raises(Refused, match=re.escape(told)):
        checked(Colours, values, "f.yaml")


def test_only_text_keys_are_accepted() -> None:
    assert mapping_of({"a": None, "b": 1}, "f") == {"b": 1}
    with pytest.raises(Refused, match=r"f must be a map of names to values, not \[1\]"):
        mapping_of([1], "f")
    with pytest.raises(Refused, match=r"the key 'a\.1' is not text"):
        mapping_of({1: 2}, "f", "a")


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    refused: Refused | None = None
    try:
        parse_yaml(text, "f.yaml")
    except Refused as error:
        refused = error
    assert refused is None or str(refused).startswith("f.yaml")
