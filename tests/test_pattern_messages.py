"""No message shows a regular expression: every pattern of a model has its words."""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

import deemster
from deemster.domain.errors import Refused
from deemster.pattern_messages import FORMS, OTHER_CHARACTERS, WORDS, fault_text
from deemster.pipeline.evaluate.rubric_file import Slug
from deemster.problems.formats.yaml_file import FileModel, checked
from deemster.programs.build.languages import LanguageFile, read_toml

SOURCES = Path(deemster.__file__).parent
CONSTRAINED = re.compile(r"(StringConstraints|Field|Query|Path|Header)\([^)]*\bpattern=")


def all_models() -> Iterator[type[BaseModel]]:
    for found in walk_packages(deemster.__path__, "deemster."):
        if not found.name.endswith("__main__") and ".native" not in found.name:
            import_module(found.name)
    waiting = [BaseModel]
    while waiting:
        subclasses = waiting.pop().__subclasses__()
        waiting += subclasses
        yield from (each for each in subclasses if each.__module__.startswith("deemster."))


def patterns_in(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if schema.get("type") == "str" and schema.get("pattern"):
            pattern = schema["pattern"]
            yield pattern if isinstance(pattern, str) else pattern.pattern
        schema = list(schema.values())
    if isinstance(schema, list | tuple):
        for each in schema:
            yield from patterns_in(each)


def test_every_pattern_of_a_model_has_words() -> None:
    found = {
        pattern
        for model in all_models()
        for pattern in patterns_in(model.__pydantic_core_schema__)
    }
    assert len(found) > 15
    assert found <= WORDS.keys()
    for pattern, words in WORDS.items():
        assert pattern not in words
        assert not re.search(r"[\\^$|]|\[", words), words


def test_all_patterns_are_made_in_one_place() -> None:
    """Also those of single parameters, which are in no model."""
    others = [
        str(path.relative_to(SOURCES))
        for path in SOURCES.rglob("*.py")
        if path.name != "pattern_messages.py" and CONSTRAINED.search(path.read_text())
    ]
    assert others == []


@pytest.mark.parametrize("pattern", sorted(FORMS))
def test_an_error_has_the_words_of_its_pattern(pattern: str) -> None:
    assert fault_text(error_of(pattern)) == FORMS[pattern]


def test_an_unknown_pattern_is_not_shown_either() -> None:
    assert fault_text(error_of("^secret$")) == OTHER_CHARACTERS


def error_of(pattern: str) -> dict[str, Any]:
    message = f"String should match pattern '{pattern}'"
    return {
        "type": "string_pattern_mismatch",
        "msg": message,
        "ctx": {"pattern": pattern},
    }


class Entry(FileModel):
    id: Slug


def test_a_file_of_a_package_is_refused_in_words() -> None:
    with pytest.raises(Refused) as refused:
        checked(Entry, {"id": "Über"}, "rubric.yaml")
    assert str(refused.value) == (
        "rubric.yaml: the key 'id' is 'Über': use up to 40 of a-z, 0-9 and _, and begin with a "
        "letter."
    )


def test_a_language_file_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text('id = "C sharp"\n')
    with pytest.raises(Refused, match=r"the key id is invalid: use a-z, 0-9"):
        read_toml(tmp_path / "x.toml", LanguageFile)


def test_other_errors_keep_their_words() -> None:
    with pytest.raises(ValidationError) as fault:
        TypeAdapter(int).validate_python("x")
    assert fault_text(fault.value.errors()[0]).startswith("Input should be a valid integer")
